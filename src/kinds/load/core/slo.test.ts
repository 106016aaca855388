import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresFor } from "./figures.ts";
import { Histogram } from "./histogram.ts";
import { measuredOf } from "./latency.ts";
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
  const failed = new Histogram();
  failed.recordMany(9_000_000, errors);
  return {
    operation,
    kind,
    phase: "MEASUREMENT",
    step: 0,
    ops: latenciesMs.length + errors,
    rows: 0,
    errors: errors === 0 ? {} : { timeout: errors },
    response: encoded,
    service: encoded,
    failed: failed.encode(),
    unserved: 0,
    censored: "",
  };
}

const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
const series = [
  seriesOf("look", "POINT_LOOKUP", hundred),
  seriesOf("look", "POINT_LOOKUP", hundred), // Of another worker.
  seriesOf("scan", "RANGE_SCAN", [400], 1),
];

const of = (name: string) => measuredOf(figuresFor(series, name));
const span = { seconds: 2, availability: null };

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
    const [outcome] = evaluateSlos([slo], of, span, "final").slos;
    assert.equal(outcome?.state, state);
    assert.ok(Math.abs((outcome?.value ?? 0) - (value ?? 0)) <= (value ?? 0) * 0.005);
  });
}

test("[SO3, SO4] nothing measured is no verdict while it runs, and a miss at the end", () => {
  const slos: SloConfig[] = [
    { of: "insert", metric: "p95", limit: 5 },
    { of: "look", metric: "p50", limit: 51 },
  ];
  const live = evaluateSlos(slos, of, span, "live");
  assert.deepEqual([live.verdict, live.slos.map(({ state }) => state)], [null, ["NO_DATA", "MET"]]);
  assert.deepEqual(missedSlos(live), []);
  const final = evaluateSlos(slos, of, span, "final");
  assert.equal(final.verdict, "FAILED");
  assert.deepEqual(missedSlos(final), ["p95 of insert: nothing was measured"]);
  assert.equal(evaluateSlos(slos.slice(1), of, span, "live").verdict, "PASSED");
  assert.equal(evaluateSlos([], of, span, "final").verdict, null);
  const slow = evaluateSlos([{ of: "look", metric: "p50", limit: 20 }], of, span, "live");
  assert.deepEqual(missedSlos(slow), ["p50 of look is 50.05 ms; at most 20 ms is allowed"]);
});

function hungSeries(unservedMs: readonly number[]): SeriesSnapshot {
  const censored = new Histogram();
  for (const ms of unservedMs) censored.record(ms * 1_000);
  const answered = seriesOf("look", "POINT_LOOKUP", hundred);
  return { ...answered, unserved: unservedMs.length, censored: censored.encode() };
}

test("[SO2] [SO3] unserved arrivals miss an objective, also where only their answers could have kept it", () => {
  const judge = (unservedMs: readonly number[], limit: number) => {
    const found = measuredOf(figuresFor([hungSeries(unservedMs)], "ALL"));
    const slos: SloConfig[] = [{ of: "ALL", metric: "p95", limit }];
    return evaluateSlos(slos, () => found, span, "final").slos[0];
  };
  assert.equal(judge([], 96)?.state, "MET");
  assert.equal(judge(new Array(10).fill(4_000), 96)?.state, "MISSED");
  assert.match(
    judge(new Array(10).fill(4_000), 96)?.text ?? "",
    /p95 of ALL is at least 4\d{3} ms/,
  );
  assert.equal(judge(new Array(10).fill(2), 96)?.state, "MISSED", "they waited for 2 ms so far");
  assert.equal(judge(new Array(10).fill(2), 5_000)?.state, "MISSED", "there is no bound to it");
  assert.equal(judge([2], 120)?.state, "MET", "one of a hundred changes no p95 by much");
});

test("[SO2] availability and silence are objectives of the whole run", () => {
  const availability = {
    availability_pct: 99.5,
    longest_silence_ms: 900,
    usual_silence_ms: 1_000,
    stalled_pct: 0,
  };
  const states = (limit: number, silenceMs: number) =>
    evaluateSlos(
      [
        { of: "ALL", metric: "availability_pct", limit },
        { of: "ALL", metric: "longest_silence", limit: silenceMs },
      ],
      of,
      { seconds: 2, availability },
      "final",
    ).slos.map(({ state }) => state);
  assert.deepEqual(states(99.5, 900), ["MET", "MET"]);
  assert.deepEqual(states(99.9, 899), ["MISSED", "MISSED"]);
});
