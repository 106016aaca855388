import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf } from "./figures.ts";
import { Histogram } from "./histogram.ts";
import { arePercentilesValid, measuredOf } from "./latency.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const ms of values) histogram.record(ms * 1_000);
  return histogram;
}

function measured(
  answeredMs: readonly number[],
  unservedMs: readonly number[],
  failedMs: readonly number[] = [],
) {
  const response = histogramOf(answeredMs).encode();
  const series: SeriesSnapshot = {
    operation: "look",
    kind: "POINT_LOOKUP",
    phase: "MEASUREMENT",
    step: 0,
    ops: answeredMs.length + failedMs.length,
    rows: 0,
    errors: failedMs.length === 0 ? {} : { other: failedMs.length },
    response,
    service: response,
    failed: histogramOf(failedMs).encode(),
    unserved: unservedMs.length,
    censored: histogramOf(unservedMs).encode(),
  };
  return measuredOf(figuresOf([series]));
}

const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
const near = (found: number | null, wanted: number): void =>
  assert.ok(Math.abs((found ?? 0) / wanted - 1) < 0.01, `${found} for ${wanted}`);

test("[LT1] unserved arrivals count with the time that they waited; what lies among them is a least value", () => {
  const { latency } = measured(hundred, new Array(10).fill(4_000));
  near(latency.p50_latency_ms, 55);
  near(latency.p95_latency_ms, 4_000);
  near(latency.avg_latency_ms, (5_050 + 40_000) / 110);
  near(latency.min_latency_ms, 1);
  assert.deepEqual(latency.at_least, [
    "p95_latency_ms",
    "p99_latency_ms",
    "p999_latency_ms",
    "avg_latency_ms",
    "max_latency_ms",
  ]);
  assert.equal(arePercentilesValid(latency), false);
});

test("[LT1] one arrival of thousands that waited for a moment at the end makes no percentile invalid", () => {
  const many = Array.from({ length: 10_000 }, (_, at) => (at + 1) / 100);
  const { latency } = measured(many, [0.5]);
  assert.deepEqual(latency.at_least, ["avg_latency_ms", "max_latency_ms"]);
  assert.equal(arePercentilesValid(latency), true);
});

test("[LT1] arrivals that waited for less than the median may still be what is above it", () => {
  const { latency, most } = measured(new Array(50).fill(100), new Array(50).fill(1));
  near(latency.p50_latency_ms, 1);
  near(most.p50_latency_ms, 100);
  assert.equal(most.p95_latency_ms, null);
  assert.ok(latency.at_least.includes("p50_latency_ms"));
});

test("[FG3] [LT1] failures are in no latency; where nothing succeeded there is none", () => {
  const { latency } = measured([10, 10], [], [30_000, 0, 0]);
  near(latency.max_latency_ms, 10);
  near(latency.min_latency_ms, 10);
  const none = measured([], [], [5, 5]).latency;
  assert.deepEqual([none.p95_latency_ms, none.min_latency_ms, none.at_least], [null, null, []]);
  const hung = measured([], [2_000]).latency;
  near(hung.p50_latency_ms, 2_000);
  assert.equal(hung.min_latency_ms, null);
  assert.equal(arePercentilesValid(hung), false);
});
