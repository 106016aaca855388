import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExpr } from "../../src/kinds/ask/promql/core/index.ts";
import { isAggregatedRate } from "./aggregated-rate.ts";

const cases: readonly [query: string, want: boolean][] = [
  ["sum(rate(m[5m]))", true],
  ["sum by (job) ((rate(m[5m])))", true],
  ["topk(3, increase(m[1h]))", true],
  ["sum(rate(a[5m])) / sum(rate(b[5m]))", true],
  ["histogram_quantile(0.9, sum by (le) (rate(m_bucket[5m])))", true],
  ["rate(m[5m])", false],
  ["sum(m)", false],
  ["sum(rate(m[5m])) + m", false],
  ["stddev(rate(m[5m]))", false],
  ["topk(scalar(n), rate(m[5m]))", false],
  ["sum(rate(m[5m:1m]))", false],
  ["1 + 1", false],
];
for (const [query, want] of cases) {
  test(`${query}: ${want ? "must not" : "may"} ship raw samples`, () => {
    assert.equal(isAggregatedRate(parseExpr(query)), want);
  });
}
