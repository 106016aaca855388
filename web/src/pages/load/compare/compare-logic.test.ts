import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricDifference } from "../../../api/gen/types.ts";
import {
  chanceText,
  changeText,
  differenceText,
  idsOf,
  intervalText,
  letterOf,
  metricName,
  metricValue,
  withBase,
} from "./compare-view.ts";
import {
  overlayDistributions,
  overlaySeries,
  parseHgrm,
  percentileName,
  percentileTick,
} from "./overlay.ts";

test("[WEB66] runs are laid over each other by the time since their load began", () => {
  const overlay = overlaySeries([
    { x: [0.1, 1.2, 3.1, 9.5], values: [10, 20, 40, 5] },
    { x: [0, 0.5, 1.5], values: [1, 3, null] },
  ]);
  assert.deepEqual(overlay.x, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  // A single missing second is bridged; a pause stays a gap until shortly before its end.
  assert.deepEqual(overlay.columns[0], [10, 20, 20, 40, null, null, null, null, null, 5]);
  assert.deepEqual(overlay.columns[1]?.slice(0, 3), [2, null, null]);
  const hours = Array.from({ length: 7_200 }, (_, at) => at);
  const long = overlaySeries([{ x: hours, values: hours }]);
  assert.equal(long.x.length, 600);
  assert.equal(long.columns[0]?.[1], 17.5);
  assert.deepEqual(overlaySeries([{ x: [], values: [] }]).columns, [[null]]);
});

const hgrm = `       Value     Percentile TotalCount 1/(1-Percentile)

       1.000 0.000000000000          1           1.00
       2.000 0.500000000000         50           2.00
       5.000 0.900000000000         90          10.00
       9.000 1.000000000000        100
#[Mean    =        2.500, StdDeviation   =        1.000]
#[Max     =        9.000, Total count    =          100]
`;

test("[WEB66] distributions are laid over each other by percentile, as far as counts can tell", () => {
  const read = parseHgrm(hgrm);
  assert.equal(read.total, 100);
  assert.equal(read.points.length, 4);
  const few = { total: 10, points: [{ share: 1, ms: 7 }] };
  const { x, columns } = overlayDistributions([read, few]);
  assert.equal(x.length, 41);
  const at = (oneIn: number): number => x.findIndex((each) => each >= oneIn - 1e-9);
  assert.equal(columns[0]?.[0], 1);
  assert.equal(columns[0]?.[at(10)], 5);
  assert.equal(columns[0]?.[at(100)], 9);
  assert.equal(columns[1]?.[at(10)], 7);
  assert.equal(columns[1]?.[at(11)], null);
  assert.deepEqual(parseHgrm("").points, []);
  assert.deepEqual([1, 10, 100, 1_000, 10_000].map(percentileTick), [
    "p0",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
  ]);
  assert.equal(percentileTick(20), "");
  assert.equal(percentileName(20), "p95.0");
});

test("[WEB66] which runs, which is the base, and differences in words", () => {
  assert.deepEqual(idsOf(new URLSearchParams("ids=a,b,,a, c")), ["a", "b", "c"]);
  assert.deepEqual(idsOf(new URLSearchParams("")), []);
  assert.equal(withBase(["a", "b", "c"], "c"), "/load/compare?ids=c,a,b");
  assert.deepEqual([0, 1, 9].map(letterOf), ["A", "B", "J"]);
  assert.equal(metricName({ metric: "qps", of: "ALL" }), "Operations/s");
  assert.equal(metricName({ metric: "p95", of: "pay" }), "p95 of pay");
  assert.deepEqual(
    [metricValue("qps", 1_234.5), metricValue("p50", 0.2986), metricValue("error_rate_pct", 0)],
    ["1,235", "0.299 ms", "0 %"],
  );
  assert.deepEqual([12.34, -3.69, 0.01, null].map(changeText), ["+12.3 %", "−3.7 %", "0 %", "–"]);
  const rates = { metric: "error_rate_pct", of: "ALL", change_pct: null } as MetricDifference;
  assert.equal(differenceText({ ...rates, before: 0, after: 4.888 }), "+4.89 points");
  assert.equal(differenceText({ ...rates, before: 2, after: 1.5 }), "−0.5 points");
  assert.equal(differenceText({ ...rates, metric: "p50", change_pct: 3 }), "+3.0 %");
  assert.equal(intervalText([-29.77, 42.8]), "−29.8 % to +42.8 %");
  assert.deepEqual([0.0001, 0.751, null].map(chanceText), ["< 0.001", "0.751", "–"]);
});
