import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresFor } from "./figures.ts";
import { Histogram } from "./histogram.ts";
import type { QueryKind } from "./operation.ts";
import type { SloConfig } from "./scenario.ts";
import { evaluateSlos, missedSlos } from "./slo.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

function seriesOf(
  operation: string,
  kind: QueryKind,
  latenciesMs: readonly number[],
  errors = 0,
): SeriesSnapshot {
  const histogram = new Histogram();
  for (const ms of latenciesMs) histogram.record(ms * 1_000);
  const encoded = histogram.encode();
  return {
    operation,
    kind,
    phase: "MEASUREMENT",
    step: 0,
    ops: latenciesMs.length,
    rows: 0,
    errors: errors === 0 ? {} : { timeout: errors },
    response: encoded,
    service: encoded,
  };
}

const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
const series = [
  seriesOf("look", "POINT_LOOKUP", hundred),
  seriesOf("look", "POINT_LOOKUP", hundred), // Of another worker.
  seriesOf("scan", "RANGE_SCAN", [400, 400], 1),
];

const of = (name: string) => figuresFor(series, name);

const cases: readonly [slo: SloConfig, value: number | null, state: string][] = [
  [{ of: "look", metric: "p50", limit: 51 }, 50, "MET"],
  [{ of: "POINT_LOOKUP", metric: "p95", limit: 94 }, 95, "MISSED"],
  [{ of: "ALL", metric: "max", limit: 399 }, 400, "MISSED"],
  [{ of: "ALL", metric: "p999", limit: 410 }, 400, "MET"],
  [{ of: "RANGE_SCAN", metric: "error_rate_pct", limit: 50 }, 50, "MET"],
  [{ of: "scan", metric: "error_rate_pct", limit: 49.9 }, 50, "MISSED"],
  [{ of: "scan", metric: "avg", limit: 400 }, 400, "MET"],
  [{ of: "ALL", metric: "qps_min", limit: 100.5 }, 100.5, "MET"],
  [{ of: "ALL", metric: "qps_min", limit: 101 }, 100.5, "MISSED"],
  [{ of: "look", metric: "qps_min", limit: 101 }, 100, "MISSED"],
];
for (const [slo, value, state] of cases) {
  test(`[SO1, SO2] ${slo.metric} of ${slo.of} at most ${slo.limit}: ${state}`, () => {
    const [outcome] = evaluateSlos([slo], of, 2, "final").slos;
    assert.equal(outcome?.state, state);
    assert.ok(Math.abs((outcome?.value ?? 0) - (value ?? 0)) <= (value ?? 0) * 0.005);
  });
}

test("[SO3, SO4] nothing measured is no verdict while it runs, and a miss at the end", () => {
  const slos: SloConfig[] = [
    { of: "insert", metric: "p95", limit: 5 },
    { of: "look", metric: "p50", limit: 51 },
  ];
  const live = evaluateSlos(slos, of, 2, "live");
  assert.deepEqual([live.verdict, live.slos.map(({ state }) => state)], [null, ["NO_DATA", "MET"]]);
  assert.deepEqual(missedSlos(live), []);
  const final = evaluateSlos(slos, of, 2, "final");
  assert.equal(final.verdict, "FAILED");
  assert.deepEqual(missedSlos(final), ["p95 of insert: nothing was measured"]);
  assert.equal(evaluateSlos(slos.slice(1), of, 2, "live").verdict, "PASSED");
  assert.equal(evaluateSlos([], of, 2, "final").verdict, null);
  const slow = evaluateSlos([{ of: "look", metric: "p50", limit: 20 }], of, 2, "live");
  assert.deepEqual(missedSlos(slow), ["p50 of look is 50.05 ms; at most 20 ms is allowed"]);
});
