import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng, type Prng } from "../../kernel/prng.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { type ComparedRun, type ComparedSecond, compareRuns } from "./compare-runs.ts";
import { Histogram, mergeHistograms } from "./histogram.ts";
import { mannWhitneyP } from "./statistics.ts";

interface Kind {
  readonly slowdown?: number;
  readonly seconds?: number;
  readonly errorShare?: number;
  readonly stallAt?: number;
  readonly isOpenLoop?: boolean;
}

/**
 * A closed loop of a few connections on a target whose speed wanders: log-normal latencies, and a level that follows itself from
 * second to second (0.7 of the last, 4 % of new noise), as machines that others use have.
 */
function simulate(seed: string, kind: Kind = {}): ComparedRun {
  const prng = createPrng(seed);
  const seconds: ComparedSecond[] = [];
  let level = 0;
  for (let at = 0; at < (kind.seconds ?? 60); at += 1) {
    level = 0.7 * level + 0.04 * gaussian(prng);
    const stall = at === kind.stallAt ? 8 : 1;
    const meanMs = 5 * Math.exp(level) * (kind.slowdown ?? 1) * stall;
    const response = new Histogram();
    const ops = kind.isOpenLoop ? 100 : Math.round(500 / meanMs);
    for (let each = 0; each < ops; each += 1) {
      response.record(meanMs * 1_000 * Math.exp(0.4 * gaussian(prng) - 0.08));
    }
    const errors = Math.round(ops * (kind.errorShare ?? 0));
    seconds.push({ ops, errors, response });
  }
  const whole = mergeHistograms(seconds.map(({ response }) => response));
  return {
    run_id: seed,
    test_name: seed,
    scenario: scenarioOf({
      workload: kind.isOpenLoop ? { load_mode: "QPS", target_qps: 100 } : {},
    }),
    seconds,
    operations: { look: { response: whole } },
    generator_bound: false,
    percentiles_valid: true,
  };
}

function gaussian(prng: Prng): number {
  return Math.sqrt(-2 * Math.log(1 - prng.next())) * Math.cos(2 * Math.PI * prng.next());
}

function verdictOf(base: ComparedRun, run: ComparedRun): string {
  return compareRuns(base, [run])[0]?.verdict ?? "";
}

const seeds = Array.from({ length: 200 }, (_, seed) => `${seed}`);

test("[CP1] a run against itself is NEUTRAL, whatever it is", () => {
  for (const seed of seeds.slice(0, 20)) {
    const run = simulate(seed, { seconds: 3 * Number(seed), errorShare: 0.1 });
    const odd = { ...run, generator_bound: true, percentiles_valid: false };
    assert.equal(verdictOf(run, run), "NEUTRAL");
    assert.equal(verdictOf(odd, odd), "NEUTRAL");
  }
});

test("[CP2] noise is called a regression in fewer than 2 of 100, a tenth slower found in more than 95", () => {
  let [alarms, found, praised] = [0, 0, 0];
  for (const seed of seeds) {
    const base = simulate(`${seed}/base`);
    if (verdictOf(base, simulate(`${seed}/same`)) === "REGRESSION") alarms += 1;
    if (verdictOf(base, simulate(`${seed}/slow`, { slowdown: 1.1 })) === "REGRESSION") found += 1;
  }
  for (const seed of seeds.slice(0, 50)) {
    const base = simulate(`${seed}/base`);
    if (verdictOf(base, simulate(`${seed}/fast`, { slowdown: 0.85 })) === "IMPROVEMENT")
      praised += 1;
  }
  assert.ok(alarms < 4, `${alarms} of 200 were false alarms`);
  assert.ok(found > 190, `${found} of 200 slowdowns were found`);
  assert.ok(praised > 45, `${praised} of 50 speedups were found`);
});

test("[CP3, CP5] verdicts have their reasons", () => {
  const base = simulate("base");
  const [slow, failing, bound] = compareRuns(base, [
    simulate("slow", { slowdown: 1.2 }),
    simulate("failing", { errorShare: 0.02 }),
    { ...simulate("bound", { slowdown: 1.2 }), generator_bound: true },
  ]);
  assert.equal(slow?.verdict, "REGRESSION");
  assert.match(
    slow?.reasons.join("\n") ?? "",
    /rate of ALL is worse: .* → .*\/s, -1\d\.\d %, p < 0\.001/,
  );
  assert.equal(failing?.verdict, "REGRESSION");
  assert.match(failing?.reasons.join("\n") ?? "", /error rate of ALL is worse: 0 → 1\.98/);
  assert.equal(bound?.verdict, "WARNING");
  assert.match(bound?.reasons.join("\n") ?? "", /bound: the generator was the bottleneck/);
  assert.equal(verdictOf(base, simulate("stalled", { stallAt: 30 })), "NEUTRAL");
});

test("[CP3] one operation that became much slower among others is a warning", () => {
  const [base, run] = [simulate("a"), simulate("b")];
  const slower = simulate("c", { slowdown: 2 }).operations.look;
  const both = { ...base.operations, pay: base.operations.look } as ComparedRun["operations"];
  const now = { ...run.operations, pay: slower } as ComparedRun["operations"];
  const [found] = compareRuns({ ...base, operations: both }, [{ ...run, operations: now }]);
  assert.equal(found?.verdict, "WARNING");
  assert.match(found?.reasons[0] ?? "", /p50 of pay is slightly worse/);
});

test("[CP4] too few seconds: a large difference is a warning, a small one nothing", () => {
  const base = simulate("base", { seconds: 5 });
  assert.equal(verdictOf(base, simulate("slow", { seconds: 5, slowdown: 1.5 })), "WARNING");
  assert.equal(verdictOf(base, simulate("same", { seconds: 5, slowdown: 1.01 })), "NEUTRAL");
  assert.equal(verdictOf(simulate("none", { seconds: 0 }), base), "NEUTRAL");
});

test("[CP5] differences in configuration are listed by path", () => {
  const base = simulate("base");
  const { workload } = base.scenario;
  const scenario = scenarioOf({
    workload: { ...workload, seed: 2, stages: [{ duration_seconds: 5, target: 1 }] },
  });
  const [found] = compareRuns(base, [{ ...simulate("slow", { slowdown: 1.3 }), scenario }]);
  assert.deepEqual(found?.configuration, [
    { path: "workload.seed", before: 1, after: 2 },
    { path: "workload.stages[0]", before: undefined, after: { duration_seconds: 5, target: 1 } },
  ]);
  assert.match(found?.reasons.at(-1) ?? "", /not the same: workload.seed and 1 more/);
});

test("[CP6] a rate that was given is no finding; latency is", () => {
  const base = simulate("base", { isOpenLoop: true });
  const slow = simulate("slow", { isOpenLoop: true, slowdown: 1.2 });
  const [found] = compareRuns(base, [slow]);
  assert.equal(found?.verdict, "REGRESSION");
  const half = {
    ...base,
    run_id: "half",
    seconds: base.seconds.map((each) => ({ ...each, ops: 50 })),
  };
  assert.equal(verdictOf(base, half), "NEUTRAL");
});

test("[CP2] the test of ranks gives the chances of tables", () => {
  const numbers = (from: number): number[] => Array.from({ length: 20 }, (_, at) => from + at);
  assert.equal(mannWhitneyP(numbers(0), numbers(0)), 1);
  assert.ok(Math.abs(mannWhitneyP(numbers(0), numbers(20)) - 6.8e-8) < 1e-8);
  assert.ok(Math.abs(mannWhitneyP([1, 2, 2, 3, 5], [2, 4, 5, 6, 7]) - 0.1113) < 0.01);
  assert.equal(mannWhitneyP([1, 1, 1], [1, 1]), 1);
});
