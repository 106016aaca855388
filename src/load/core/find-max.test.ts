import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../kernel/prng.ts";
import {
  beginFindMax,
  decideNextStep,
  type FindMaxResult,
  type FindMaxState,
  resultSoFar,
  type StepOutcome,
  type StepStats,
  stepRate,
} from "./find-max.ts";
import type { FindMaxConfig } from "./scenario.ts";

const config: FindMaxConfig = {
  enabled: true,
  start_concurrency: 5,
  concurrency_increment: 10,
  max_concurrency: null,
  step_duration_seconds: 30,
  qps_stability_pct: 5,
  latency_stability_pct: 20,
  max_error_rate_pct: 1,
};

/** As many servers as `capacity`, each taking 10 ms. */
function queue(capacity: number, noise = () => 0) {
  return (connections: number): StepStats => ({
    qps: Math.min(connections, capacity) * 100 * (1 + noise()),
    p95Ms: 10 * Math.max(1, connections / capacity) * (1 + noise()),
    errorRatePct: 0,
    queueDetected: false,
  });
}

function search(
  measure: (connections: number) => StepStats,
  changes: Partial<FindMaxConfig> = {},
): { result: FindMaxResult; steps: readonly (readonly [number, StepOutcome])[] } {
  const settings = { ...config, ...changes };
  let state: FindMaxState = beginFindMax(settings);
  const steps: [number, StepOutcome][] = [];
  for (;;) {
    // What is stored and read again is the same.
    state = JSON.parse(JSON.stringify(state)) as FindMaxState;
    const next = decideNextStep(settings, state, measure(state.connections));
    steps.push([state.connections, next.verdict.outcome]);
    if (next.kind === "done") return { result: next.result, steps };
    state = next.state;
  }
}

test("[FM1] [FM3] it climbs, backs off, halves and confirms", () => {
  const { result, steps } = search(queue(28));
  assert.deepEqual(steps, [
    [5, "STABLE"],
    [15, "STABLE"],
    [25, "STABLE"],
    [35, "DEGRADED"],
    [25, "BACKOFF"],
    [30, "PLATEAU"],
    [27, "MIDPOINT"],
    [28, "MIDPOINT"],
    [29, "MIDPOINT"],
    [29, "CONFIRMED"],
  ]);
  assert.deepEqual([result.max_concurrency, result.true_max], [29, true]);
  assert.match(result.reason, /instead of/);
});

test("[FM1] whatever the capacity and the start, with noise, it is found within a tenth", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const prng = createPrng(seed);
    const capacity = 10 + prng.below(200);
    const measure = queue(capacity, () => (prng.next() - 0.5) * 0.02);
    const { result } = search(measure, {
      start_concurrency: 1 + prng.below(40),
      concurrency_increment: 5 + prng.below(30),
    });
    const found = result.max_concurrency;
    assert.ok(
      Math.abs(found / capacity - 1) <= 0.1 + 1 / capacity,
      `seed ${seed}: ${found} for ${capacity}`,
    );
    assert.ok(result.true_max, `seed ${seed}`);
  }
});

test("[FM2] a step's rate is the mean of its seconds, and seconds of a stall are none of them", () => {
  assert.equal(stepRate([168, 189, 168, 189, 168]), (3 * 168 + 2 * 189) / 5);
  assert.equal(stepRate([100, 100, 0, 10, 100]), 100);
  assert.equal(stepRate([]), 0);
});

test("[FM4] a start beyond the maximum is found out", () => {
  const { result, steps } = search(queue(8), { start_concurrency: 64 });
  assert.deepEqual([result.max_concurrency, result.true_max], [8, true]);
  assert.deepEqual(steps[1], [74, "PLATEAU"]);
  assert.equal(search(queue(1), { start_concurrency: 4 }).result.max_concurrency, 1);
});

test("[FM1] errors and queues at the server end a climb", () => {
  const failing = (connections: number): StepStats => ({
    ...queue(1_000)(connections),
    errorRatePct: connections > 40 ? 5 : 0,
  });
  assert.equal(search(failing).result.max_concurrency, 40);
  const queueing = (connections: number): StepStats => ({
    ...queue(1_000)(connections),
    queueDetected: connections > 52,
  });
  const { result, steps } = search(queueing);
  assert.ok(Math.abs(result.max_concurrency - 52) <= 2, `${result.max_concurrency}`);
  assert.ok(steps.some(([, outcome]) => outcome === "QUEUE_DETECTED"));
  const broken = search(() => ({ ...queue(10)(1), errorRatePct: 100 }));
  assert.deepEqual([broken.result.max_concurrency, broken.result.true_max], [0, false]);
});

test("[FM3] [FM5] bounds and stops are no answer, and say so", () => {
  const bounded = search(queue(1_000), { max_concurrency: 40 }).result;
  assert.deepEqual([bounded.max_concurrency, bounded.true_max], [40, false]);
  assert.match(bounded.reason, /40 connections were allowed/);
  let flips = 0;
  const fickle = search((connections) => {
    flips += 1;
    return { ...queue(50)(connections), errorRatePct: connections > 20 && flips % 2 === 0 ? 9 : 0 };
  }).result;
  assert.ok(fickle.steps <= 100);
  const soFar = resultSoFar(beginFindMax(config), "stopped by a person");
  assert.deepEqual([soFar.max_concurrency, soFar.true_max], [0, false]);
});
