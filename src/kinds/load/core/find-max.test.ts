import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { testWorker } from "../testing/ids.ts";
import {
  beginFindMax,
  decideNextStep,
  type FindMaxResult,
  type FindMaxState,
  findMaxAnswer,
  resultSoFar,
  type StepOutcome,
} from "./find-max.ts";
import { measureStep, type StepSecond, type StepStats } from "./find-max-step.ts";
import { Histogram } from "./histogram.ts";
import type { FindMaxConfig } from "./scenario.ts";
import { type LoopModel, loopTarget, plainLoop } from "./testing/closed-loop.ts";

const config: FindMaxConfig = {
  enabled: true,
  startConcurrency: 5,
  concurrencyIncrement: 10,
  maxConcurrency: null,
  stepDurationSeconds: 30,
  qpsStabilityPct: 5,
  latencyStabilityPct: 20,
  maxErrorRatePct: 1,
};

/** As many servers as `capacity`, each taking 10 ms; rates are known within `error`. */
function queue(capacity: number, noise = () => 0, error = 0.01) {
  return (connections: number): StepStats => {
    const qps = Math.min(connections, capacity) * 100 * (1 + noise());
    const p95Ms = 10 * Math.max(1, connections / capacity) * (1 + noise());
    return {
      qps,
      qpsLow: qps * (1 - error),
      qpsHigh: qps * (1 + error),
      p95Ms,
      p95LowMs: p95Ms * 0.99,
      p95HighMs: p95Ms * 1.01,
      ops: 10_000,
      errorRatePct: 0,
      queuedShare: 0,
      secondsDiscarded: 0,
      isLate: false,
    };
  };
}

type Trail = readonly (readonly [number, StepOutcome | null])[];

function search(
  measure: (connections: number) => StepStats,
  changes: Partial<FindMaxConfig> = {},
): { result: FindMaxResult; steps: Trail; stored: Trail } {
  const settings = { ...config, ...changes };
  let state: FindMaxState = beginFindMax(settings);
  const steps: [number, StepOutcome | null][] = [];
  const stored: [number, StepOutcome | null][] = [];
  for (;;) {
    // What is stored and read again is the same.
    state = JSON.parse(JSON.stringify(state)) as FindMaxState;
    const next = decideNextStep(settings, state, measure(state.connections));
    steps.push([state.connections, next.verdict.outcome]);
    stored.push([state.connections, next.verdict.outcome]);
    for (const { step, connections, verdict } of next.rejudged) {
      stored[step - 1] = [connections, verdict.outcome];
    }
    if (next.kind === "done") return { result: next.result, steps, stored };
    state = next.state;
  }
}

const stableOutcomes: readonly (StepOutcome | null)[] = [
  "STABLE",
  "BACKOFF",
  "MIDPOINT",
  "CONFIRMED",
];

/** Steps whose stored outcome says otherwise than a confirmed answer does. */
function contradictions({ result, stored }: ReturnType<typeof search>): Trail {
  const { max_concurrency: found } = result;
  return stored.filter(([connections, outcome]) => {
    if (outcome === null) return false;
    return stableOutcomes.includes(outcome) ? connections > found : connections <= found;
  });
}

test("[FM10] a first step beyond the maximum is judged anew: no stored step contradicts the answer", () => {
  const searched = search(queue(2));
  const { result, steps, stored } = searched;
  assert.deepEqual([result.max_concurrency, result.true_max], [2, true]);
  assert.deepEqual([steps[0], stored[0]?.[0]], [[5, "STABLE"], 5]);
  assert.ok(["PLATEAU", "DEGRADED"].includes(`${stored[0]?.[1]}`), `${stored[0]}`);
  for (const capacity of [1, 2, 3, 5, 8, 20]) {
    for (const start of [1, 5, 20, 64]) {
      const each = search(queue(capacity), { startConcurrency: start });
      assert.deepEqual(contradictions(each), [], `${capacity} servers from ${start}`);
    }
  }
});

test("[FM3] [FM10] whatever a count does by itself, no stored step contradicts a confirmed answer", () => {
  let confirmed = 0;
  for (let seed = 0; seed < 500; seed += 1) {
    const prng = createPrng(`quirks/${seed}`);
    const measure = queue(20 + prng.below(60));
    const quirks = new Map<number, number>();
    const searched = search(
      (connections) => {
        const quirk = quirks.get(connections) ?? Math.min(1, 0.85 + prng.next() * 0.3);
        quirks.set(connections, quirk);
        const { qps, qpsLow, qpsHigh, ...rest } = measure(connections);
        return { ...rest, qps: qps * quirk, qpsLow: qpsLow * quirk, qpsHigh: qpsHigh * quirk };
      },
      { startConcurrency: 1 + prng.below(20), concurrencyIncrement: 3 + prng.below(20) },
    );
    if (!searched.result.true_max) continue;
    confirmed += 1;
    assert.deepEqual(contradictions(searched), [], `seed ${seed}: ${searched.stored.join(" ")}`);
  }
  assert.ok(confirmed > 0);
});

test("[FM3] a stable step above a short one is no confirmed answer, however near they are", () => {
  const seenAt = (connections: number, qps: number, p95Ms: number, steps: readonly number[]) => ({
    ...queue(1)(1),
    ...{ connections, steps, qps, qpsLow: qps * 0.995, qpsHigh: qps * 1.005 },
    ...{ p95Ms, p95LowMs: p95Ms * 0.99, p95HighMs: p95Ms * 1.01 },
  });
  const seen = [
    seenAt(5, 500, 10, [1, 2, 3, 4]),
    seenAt(15, 1500, 10, [5, 6, 7, 8]),
    seenAt(30, 3000, 10, [9, 10, 11]),
    seenAt(31, 3050, 14, [13, 14, 15, 16]),
    seenAt(32, 3200, 10, [17, 18, 19, 20]),
    seenAt(33, 3050, 13, [21, 22]),
  ];
  const state: FindMaxState = { step: 23, connections: 30, stage: "confirm", seen };
  const next = decideNextStep(config, state, seenAt(30, 3000, 10, []));
  assert.ok(next.kind === "done");
  const { low, high, true_max: isTrue, reason } = next.result;
  assert.deepEqual([low, high, isTrue], [30, 32, false]);
  assert.match(reason, /32 connections were stable and 31 were not/);
});

test("[FM1] [FM3] it climbs, backs off, halves and confirms both sides", () => {
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
    [30, "PLATEAU"],
    [29, "CONFIRMED"],
  ]);
  const { max_concurrency: found, true_max: isTrue, low, high } = result;
  assert.deepEqual([found, isTrue, low, high], [29, true, 29, 29]);
  assert.match(result.reason, /instead of/);
});

test("[FM1] [FM3] whatever the capacity and the start, with noise, it is found within a tenth", () => {
  let confirmed = 0;
  for (let seed = 0; seed < 500; seed += 1) {
    const prng = createPrng(seed);
    const capacity = 10 + prng.below(200);
    const measure = queue(capacity, () => (prng.next() - 0.5) * 0.02);
    const { result } = search(measure, {
      startConcurrency: 1 + prng.below(40),
      concurrencyIncrement: 5 + prng.below(30),
    });
    const { max_concurrency: found, low, high } = result;
    const said = `seed ${seed}, ${capacity}: ${JSON.stringify(result)}`;
    if (!result.true_max) {
      assert.ok((low ?? 0) <= capacity + 1 && capacity <= (high ?? Infinity), said);
      continue;
    }
    confirmed += 1;
    assert.ok(Math.abs(found / capacity - 1) <= 0.1 + 1 / capacity, said);
  }
  assert.ok(confirmed >= 475, `${confirmed} of 500 were confirmed`);
});

/**
 * Of every kind of target, many. One of a thousand is kept from an answer rather than one wrong.
 */
const models: Readonly<Record<string, Partial<LoopModel>>> = {
  "a plateau": {},
  "a plateau, with jitter": { jitter: 0.3 },
  "a plateau, with slow seconds": { jitter: 0.2, slowShare: 0.3 },
  "a plateau, with a generator that is late at times": { jitter: 0.2, lateShare: 0.3, lateMs: 40 },
  "a collapse": { jitter: 0.2, collapse: 0.1 },
  "a collapse, with a generator that is late at times": {
    jitter: 0.2,
    collapse: 0.05,
    lateShare: 0.3,
    lateMs: 30,
  },
};
const seedCount = 8;

for (const servers of [1, 2, 3, 5, 20]) {
  test(`[FM3] [FM9] ${servers} servers: never a confirmed answer that is wrong, and the truth is always within what is said`, () => {
    let confirmed = 0;
    for (const [name, model] of Object.entries(models)) {
      for (let seed = 0; seed < seedCount; seed += 1) {
        const prng = createPrng(`find-max/${servers}/${name}/${seed}`);
        const serviceMs = 15 + prng.below(60);
        const { result, steps } = search(
          loopTarget({ ...plainLoop, servers, serviceMs, ...model }, 5, prng),
          { startConcurrency: 1 + prng.below(12), concurrencyIncrement: 1 + prng.below(10) },
        );
        const { true_max: isTrue, max_concurrency: found, low, high } = result;
        const said = `${name}, seed ${seed}: ${JSON.stringify(result)}, ${steps.join(" ")}`;
        if (isTrue) assert.ok(Math.abs(found - servers) <= servers * 0.1, said);
        else assert.ok((low ?? 0) <= servers && servers <= (high ?? Infinity), said);
        confirmed += isTrue ? 1 : 0;
      }
    }
    const share = confirmed / (seedCount * Object.keys(models).length);
    assert.ok(share >= 0.8, `${Math.round(share * 100)} % were confirmed`);
  });
}

test("[FM3] [FM7] a generator that is late all the time gives no confirmed answer and no bounds", () => {
  for (const servers of [1, 2, 5]) {
    const prng = createPrng(`late/${servers}`);
    const model = { ...plainLoop, servers, lateShare: 1, lateMs: 10 };
    const { result } = search(loopTarget(model, 5, prng), { startConcurrency: 1 });
    assert.deepEqual([result.true_max, result.low, result.high], [false, null, null]);
    assert.match(result.reason, /load generator was late/);
  }
});

test("[FM3] a step that contradicts another is no answer: it is between the two", () => {
  // The case: 2 was stable in one step, and short in a later one.
  let looks = 0;
  const fickle = (connections: number): StepStats => {
    looks += connections === 2 ? 1 : 0;
    const stats = queue(2)(connections);
    if (connections !== 2 || looks % 2 === 1) return stats;
    return { ...stats, qps: 150, qpsLow: 100, qpsHigh: 200 };
  };
  const { result } = search(fickle, { startConcurrency: 1, concurrencyIncrement: 1 });
  const { low, high, true_max: isTrue } = result;
  assert.ok(!isTrue || result.max_concurrency === 2, JSON.stringify(result));
  assert.ok((low ?? 0) <= 2 && 2 <= (high ?? Infinity), JSON.stringify(result));
  // Clear both ways: 10 was short, and 14 was not.
  const seen = [4, 10, 14, 30].map((connections) => {
    const share = connections === 10 ? 0.7 : 1;
    const { qps, qpsLow, qpsHigh, ...rest } = queue(16)(connections);
    const rates = { qps: qps * share, qpsLow: qpsLow * share, qpsHigh: qpsHigh * share };
    return { ...rest, ...rates, connections, steps: [connections] };
  });
  const state: FindMaxState = { ...beginFindMax(config), step: 5, seen };
  const torn = resultSoFar(config, state, "stopped");
  assert.deepEqual([torn.low, torn.high, torn.true_max], [4, 29, false]);
  // It is looked at again before anything else is.
  const next = decideNextStep(config, { ...state, connections: 30 }, queue(16)(30));
  assert.ok(next.kind === "step" && [4, 10, 14].includes(next.state.connections));
});

test("[FM9] a step whose interval does not tell is run again, four times at most", () => {
  const { result, steps } = search(queue(8, undefined, 0.5), { startConcurrency: 4 });
  const counts = Map.groupBy(steps, ([connections]) => connections);
  assert.ok([...counts.values()].every(({ length }) => length <= 4));
  assert.equal(result.true_max, false);
  assert.ok(steps.length <= 100);
});

const secondsOf = (rates: readonly number[], isLate = (_: number): boolean => false) =>
  rates.map(
    (qps, index): StepSecond => ({
      workerId: testWorker("worker-0"),
      atMs: index * 1000,
      connections: 10,
      qps,
      response: new Histogram(),
      isLate: isLate(index),
    }),
  );
const counts = { ops: 1_000, errors: 0, response: new Histogram(), queuedShare: 0 };

test("[FM2] a step's rate is the mean of its seconds but the first, and seconds of a stall are none of them", () => {
  const rateOf = (rates: readonly number[]): number => measureStep([secondsOf(rates)], counts).qps;
  assert.equal(rateOf([999, 168, 189, 168, 189, 168]), (3 * 168 + 2 * 189) / 5);
  assert.equal(rateOf([999, 100, 100, 0, 10, 100]), 100);
  assert.equal(rateOf([]), 0);
});

test("[FM7] late seconds and those after them are left out; a step of nothing else is late", () => {
  const rates = [100, 100, 40, 60, 100, 100, 100];
  const once = measureStep([secondsOf(rates, (index) => index === 2)], counts);
  assert.deepEqual([once.qps, once.secondsDiscarded, once.isLate], [100, 2, false]);
  const always = measureStep([secondsOf(rates, () => true)], counts);
  assert.deepEqual([always.secondsDiscarded, always.isLate], [0, true]);
  // Another worker's lateness took load off the same target.
  const other = secondsOf([50, 50, 50, 80, 50, 50, 50]).map((second) => ({
    ...second,
    workerId: testWorker("worker-1"),
  }));
  const both = measureStep([[...secondsOf(rates, (index) => index === 2), ...other]], counts);
  assert.deepEqual([both.qps, both.secondsDiscarded], [150, 4]);
});

test("[FM2] a worker that has no connections under a step has no part in its rate", () => {
  const idle = secondsOf([0, 0, 0, 0]).map((second) => ({
    ...second,
    workerId: testWorker("worker-1"),
  }));
  const { qps, qpsLow, qpsHigh } = measureStep([[...secondsOf([10, 10, 10, 10]), ...idle]], counts);
  assert.ok(qps === 10 && qpsLow > 9 && qpsHigh < 11, `${qpsLow} to ${qpsHigh}`);
});

test("[FM8] the interval has the true rate in it, nineteen times of twenty", () => {
  let inside = 0;
  for (let seed = 0; seed < 200; seed += 1) {
    const prng = createPrng(`interval/${seed}`);
    const model = { ...plainLoop, servers: 8, serviceMs: 40, jitter: 0.4 };
    const { qpsLow, qpsHigh } = loopTarget(model, 6, prng)(8);
    inside += qpsLow <= 200 && 200 <= qpsHigh ? 1 : 0;
  }
  assert.ok(inside >= 190, `${inside} of 200`);
});

test("[FM4] a start beyond the maximum is found out", () => {
  const { result, steps } = search(queue(8), { startConcurrency: 64 });
  assert.deepEqual([result.max_concurrency, result.true_max], [8, true]);
  assert.deepEqual(steps[1], [74, "PLATEAU"]);
  assert.equal(search(queue(1), { startConcurrency: 4 }).result.max_concurrency, 1);
});

test("[FM1] errors and queues at the server end a climb", () => {
  const failing = (connections: number): StepStats => ({
    ...queue(1_000)(connections),
    errorRatePct: connections > 40 ? 5 : 0,
  });
  const { result: found } = search(failing);
  assert.ok(Math.abs(found.max_concurrency - 40) <= 2, `${found.max_concurrency}`);
  const queueing = (connections: number): StepStats => ({
    ...queue(1_000)(connections),
    queuedShare: connections > 52 ? 1 : 0,
  });
  const { result, steps } = search(queueing);
  assert.ok(Math.abs(result.max_concurrency - 52) <= 2, `${result.max_concurrency}`);
  assert.ok(steps.some(([, outcome]) => outcome === "QUEUE_DETECTED"));
  const broken = search(() => ({ ...queue(10)(1), errorRatePct: 100 }));
  assert.deepEqual([broken.result.max_concurrency, broken.result.true_max], [0, false]);
});

test("[FM3] [FM5] bounds and stops are no answer, and say so", () => {
  const bounded = search(queue(1_000), { maxConcurrency: 40 }).result;
  assert.deepEqual([bounded.max_concurrency, bounded.true_max, bounded.high], [40, false, null]);
  assert.match(bounded.reason, /40 connections were allowed/);
  let flips = 0;
  const fickle = search((connections) => {
    flips += 1;
    return { ...queue(50)(connections), errorRatePct: connections > 20 && flips % 2 === 0 ? 9 : 0 };
  }).result;
  assert.ok(fickle.steps <= 100);
  const soFar = resultSoFar(config, beginFindMax(config), "stopped by a person");
  assert.deepEqual([soFar.max_concurrency, soFar.true_max], [0, false]);
});

test("[FM3] the answer in words says what is known, and no more", () => {
  const found = { qps: 1, p95_latency_ms: 1, reason: "", steps: 3 };
  const words = (max: number, isTrue: boolean, low: number | null, high: number | null): string =>
    findMaxAnswer({ ...found, max_concurrency: max, true_max: isTrue, low, high });
  assert.equal(words(20, true, 20, 21), "20 connections, confirmed");
  assert.equal(words(1, true, 1, 1), "1 connection, confirmed");
  assert.equal(words(4, false, 4, 9), "between 4 and 9 connections");
  assert.equal(words(40, false, 40, null), "at least 40 connections");
  assert.equal(words(7, false, null, null), "7 connections, not confirmed");
  assert.equal(words(0, false, 0, 1), "no number of connections kept to the limits");
});
