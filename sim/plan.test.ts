import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPrng } from "../src/ground/kernel/prng.ts";
import { type Action, drawPromql, drawSettings, type Fault, type Plan, type Step } from "./plan.ts";
import { findPlant } from "./plants/plants.ts";
import { runPlan } from "./run-plan.ts";
import type { Seams } from "./seams.ts";

const target = fc.nat(30);
const forMs = fc.integer({ min: 50, max: 9_000 });

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant("crash" as const), process: target, dark: fc.boolean(), forMs }),
  fc.record({ kind: fc.constant("pause" as const), process: target, forMs }),
  fc.record({
    kind: fc.constant("partition" as const),
    a: target,
    b: target,
    direction: fc.constantFrom("both" as const, "a_to_b" as const, "b_to_a" as const),
    forMs,
  }),
  fc.record({ kind: fc.constant("isolate" as const), process: target, forMs }),
  fc.record({
    kind: fc.constant("delay" as const),
    a: target,
    b: target,
    extraMs: fc.integer({ min: 10, max: 2_500 }),
    forMs,
  }),
  fc.record({ kind: fc.constant("reset" as const), a: target, b: target }),
  fc.record({
    kind: fc.constant("reconnect_storm" as const),
    rounds: fc.integer({ min: 1, max: 5 }),
    gapMs: fc.integer({ min: 10, max: 1_500 }),
  }),
  fc.record({
    kind: fc.constant("duplicate" as const),
    controller: target,
    worker: target,
    afterMs: fc.integer({ min: 300, max: 4_000 }),
  }),
  fc.record({
    kind: fc.constantFrom("artifact_loss" as const, "artifact_corruption" as const),
    worker: target,
    count: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant("leaf_kill" as const),
    share: fc.constantFrom(0, 0.5, 0.99),
    dark: fc.boolean(),
    forMs,
  }),
  fc.record({
    kind: fc.constant("leaf_artifact_loss" as const),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant("crash_between_spans" as const), dark: fc.boolean(), forMs }),
  fc.record({ kind: fc.constant("operator_drain" as const), worker: target, forMs }),
  fc.record({
    kind: fc.constant("worker_shutdown" as const),
    worker: target,
    drainMs: fc.integer({ min: 0, max: 5_000 }),
    forMs,
  }),
  fc.record({ kind: fc.constant("operator_drop" as const), worker: target }),
  fc.record({ kind: fc.constant("controller_shutdown" as const), controller: target, forMs }),
  fc.record({
    kind: fc.constantFrom("lost_before_commit" as const, "lost_after_commit" as const),
    controller: target,
  }),
  fc.record({ kind: fc.constant("store_outage" as const), forMs }),
  fc.record({ kind: fc.constant("store_partition" as const), controller: target, forMs }),
  fc.record({
    kind: fc.constant("store_slow" as const),
    controller: target,
    extraMs: fc.integer({ min: 100, max: 15_000 }),
    forMs,
  }),
);

const query: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant("query" as const),
  controller: target,
  works: fc.array(
    fc.record({
      runMs: fc.integer({ min: 1, max: 3_000 }),
      fate: fc.constantFrom(
        "plain" as const,
        "plain" as const,
        "flaky" as const,
        "poison" as const,
      ),
      affinity: fc.nat(20),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  deadlineMs: fc.integer({ min: 500, max: 30_000 }),
  cancelAfterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000 })),
});

const promql: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant("promql" as const),
  controller: target,
  query: fc.nat(10_000).map((seed) => drawPromql(createPrng(seed))),
  deadlineMs: fc.integer({ min: 500, max: 30_000 }),
  cancelAfterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000 })),
});

const durationMs = 40_000;
const step: fc.Arbitrary<Step> = fc
  .tuple(fc.integer({ min: 1_000, max: durationMs - 5_000 }), fc.oneof(fault, query, promql))
  .map(([atMs, action]) => ({ atMs, ...action }));

const plan: fc.Arbitrary<Plan> = fc
  .record({
    seed: fc.nat(1_000),
    topology: fc.record({
      workers: fc.integer({ min: 2, max: 3 }),
      coordinators: fc.integer({ min: 1, max: 2 }),
      queryApis: fc.integer({ min: 0, max: 1 }),
    }),
    steps: fc.array(step, { maxLength: 40 }),
  })
  .map(({ seed, topology, steps }) => ({
    seed,
    topology,
    settings: drawSettings(createPrng(seed)),
    durationMs,
    steps: steps.toSorted((left, right) => left.atMs - right.atMs),
  }));

async function holds(drawn: Plan, seams?: Seams): Promise<void> {
  const { violation } = await runPlan(drawn, seams === undefined ? {} : { seams });
  assert.equal(violation, undefined);
}

test("no list of faults and queries violates anything", async () => {
  await fc.assert(
    fc.asyncProperty(plan, (drawn) => holds(drawn)),
    { numRuns: 60 },
  );
});

test("a violating list shrinks to a few steps", async () => {
  const planted = findPlant("worker-loss-ignored");
  assert(planted !== undefined);
  const found = await fc.check(
    fc.asyncProperty(plan, (drawn) => holds(drawn, planted.seams)),
    { numRuns: 60, seed: 1 },
  );
  assert(found.failed && found.counterexample !== null);
  const [smallest] = found.counterexample;
  assert(smallest.steps.length <= 6, `${smallest.steps.length} steps are left`);
});
