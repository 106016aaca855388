import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng, type Prng } from "../../../ground/kernel/prng.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { type ComparedRun, type ComparedSecond, compareRuns } from "./compare-runs.ts";
import { type FinalRecord, finalRecordOf } from "./final-record.ts";
import { Histogram, mergeHistograms } from "./histogram.ts";
import { mannWhitneyP } from "./statistics.ts";
import type { SeriesSnapshot } from "./worker-snapshot.ts";

interface Kind {
  readonly slowdown?: number;
  readonly seconds?: number;
  readonly errorShare?: number;
  readonly stallAt?: number;
  readonly isOpenLoop?: boolean;
  /** How long each had waited, in milliseconds. */
  readonly unserved?: readonly number[];
  /** Seconds. */
  readonly silence?: number;
  /** Besides `look`. */
  readonly operations?: Readonly<Record<string, Histogram>>;
}

/**
 * A closed loop of a few connections on a target whose speed wanders: log-normal latencies, and a
 * level that follows itself from second to second (0.7 of the last, 4 % of new noise), as machines
 * that others use have.
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
    seconds.push({ seconds: 1, ops: ops + errors, errors, response });
  }
  const scenario = scenarioOf({
    workload: kind.isOpenLoop ? { loadMode: "QPS", targetQps: 100 } : {},
  });
  return { run_id: seed, test_name: seed, scenario, seconds, record: recordOf(seconds, kind) };
}

/** As the run's end would store it. */
function recordOf(
  seconds: readonly ComparedSecond[],
  { unserved = [], silence = 0, operations = {} }: Kind,
): FinalRecord {
  const censored = new Histogram();
  for (const ms of unserved) censored.record(ms * 1_000);
  const silences = new Histogram();
  if (silence > 0) silences.record(silence * 1e6);
  const sum = (field: "ops" | "errors" | "seconds"): number =>
    seconds.reduce((total, second) => total + second[field], 0);
  const look = mergeHistograms(seconds.map(({ response }) => response));
  const failed = new Histogram();
  failed.recordMany(1_000, sum("errors"));
  const line = (operation: string, response: Histogram, ops: number): SeriesSnapshot => ({
    operation,
    kind: "POINT_LOOKUP",
    phase: "MEASUREMENT",
    step: 0,
    ops,
    rows: 0,
    errors: {},
    response: response.encode(),
    service: response.encode(),
    failed: "",
    unserved: 0,
    censored: "",
  });
  return finalRecordOf({
    scenario: scenarioOf(),
    series: [
      {
        ...line("look", look, sum("ops")),
        errors: sum("errors") === 0 ? {} : { timeout: sum("errors") },
        failed: failed.encode(),
        unserved: censored.count,
        censored: censored.encode(),
      },
      ...Object.entries(operations).map(([name, response]) => line(name, response, response.count)),
    ],
    measuredSeconds: sum("seconds"),
    health: [],
    answering: [{ measured_ms: 1_000 * sum("seconds"), silences: silences.encode() }],
    errorExamples: {},
    workerCount: 1,
    lostWorkers: 0,
    status: "COMPLETED",
  });
}

function bound(run: ComparedRun): ComparedRun {
  return { ...run, record: { ...run.record, generator_bound: true } };
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
    const odd = bound(simulate(seed, { seconds: 3 * Number(seed), unserved: [9_000] }));
    assert.equal(verdictOf(run, run), "NEUTRAL");
    assert.equal(verdictOf(odd, odd), "NEUTRAL");
    const [self] = compareRuns(run, [run]);
    for (const each of self?.metrics ?? []) assert.ok((each.change_pct ?? 0) === 0, each.metric);
  }
});

test("[CP1] seconds of uneven length, and some that are missing, change no figure", () => {
  const run = simulate("uneven");
  // As looks and workers' seconds come out of step: none, then two at once; every fifth is lost.
  const seconds = run.seconds
    .map((each, at) => (at % 2 === 0 ? undefined : { ...each, seconds: 2, ops: each.ops * 2 }))
    .filter((each, at) => each !== undefined && at % 5 !== 0);
  const copy = { ...run, run_id: "copy", seconds: seconds as ComparedSecond[] };
  const [found] = compareRuns(run, [copy]);
  assert.equal(found?.verdict, "NEUTRAL");
  for (const each of found?.metrics ?? []) assert.ok((each.change_pct ?? 0) === 0, each.metric);
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
  const [slow, failing, saturated] = compareRuns(base, [
    simulate("slow", { slowdown: 1.2 }),
    simulate("failing", { errorShare: 0.02 }),
    bound(simulate("bound", { slowdown: 1.2 })),
  ]);
  assert.equal(slow?.verdict, "REGRESSION");
  assert.match(
    slow?.reasons.join("\n") ?? "",
    /rate of ALL is worse: .* → .*\/s, -1\d\.\d %, p < 0\.001/,
  );
  assert.equal(failing?.verdict, "REGRESSION");
  assert.match(failing?.reasons.join("\n") ?? "", /error rate of ALL is worse: 0 → 1\.9/);
  assert.equal(saturated?.verdict, "WARNING");
  assert.match(saturated?.reasons.join("\n") ?? "", /bound: the load generator was saturated/);
  assert.equal(verdictOf(base, simulate("stalled", { stallAt: 30 })), "NEUTRAL");
});

test("[CP3] one operation that became much slower among others is a warning", () => {
  const whole = (run: ComparedRun) => mergeHistograms(run.seconds.map(({ response }) => response));
  const [quick, slow] = [whole(simulate("a")), whole(simulate("c", { slowdown: 2 }))];
  const base = { ...simulate("a") };
  const run = { ...simulate("b") };
  const [found] = compareRuns({ ...base, record: withOperation(base, "pay", quick) }, [
    { ...run, record: withOperation(run, "pay", slow) },
  ]);
  assert.equal(found?.verdict, "WARNING");
  assert.match(found?.reasons[0] ?? "", /p50 of pay is slightly worse/);
});

function withOperation({ record, seconds }: ComparedRun, name: string, response: Histogram) {
  const { operations } = recordOf(seconds, { operations: { [name]: response } });
  return { ...record, operations };
}

test("[CP3] [CP8] a target that hung, was away or failed is a regression, however quick the rest was", () => {
  const base = simulate("base", { isOpenLoop: true });
  const hung = simulate("hung", { isOpenLoop: true, unserved: new Array(900).fill(4_000) });
  const [found] = compareRuns(base, [hung]);
  assert.equal(found?.verdict, "REGRESSION");
  const text = found?.reasons.join("\n") ?? "";
  assert.match(text, /p95 of ALL is worse: .* → ≥ 4\d{3} ms/);
  assert.match(text, /unserved arrivals of ALL are worse: 0 → 13\.0\d %/);
  assert.equal(verdictOf(hung, hung), "NEUTRAL");
  const away = simulate("away", { silence: 7 });
  assert.equal(verdictOf(simulate("closed"), bound(away)), "REGRESSION");
  const [least] = compareRuns(hung, [base]);
  assert.ok(least?.metrics.find(({ metric }) => metric === "p95")?.verdict === "unsure");
});

test("[CP4] noise that is larger than the difference is INCONCLUSIVE, and said", () => {
  // Half of the seconds take ten times as long: which half decides by how much the whole differs.
  const wild = (seed: string, slow: number): ComparedRun => {
    const parts = Array.from({ length: 20 }, (_, at) =>
      simulate(`${seed}/${at}`, { seconds: 1, slowdown: (at * 7) % 20 < slow ? 10 : 1 }),
    );
    const seconds = parts.flatMap((part) => part.seconds);
    return { ...simulate(seed), seconds, record: recordOf(seconds, {}) };
  };
  const [base, run] = [wild("p", 10), wild("q", 6)];
  const [found] = compareRuns(base, [run]);
  const rate = found?.metrics.find(({ metric }) => metric === "qps");
  assert.ok(Math.abs(rate?.change_pct ?? 0) > 20, `${rate?.change_pct}`);
  assert.equal(rate?.verdict, "unsure");
  assert.equal(found?.verdict, "INCONCLUSIVE");
  assert.match(found?.reasons.join("\n") ?? "", /rate of ALL is different: .* with noise -?\+?\d/);
});

test("[CP7] a change lies within its interval", () => {
  for (const seed of seeds.slice(0, 30)) {
    const run = simulate(`${seed}/run`, { slowdown: 1 + Number(seed) / 30, seconds: 12 });
    const [found] = compareRuns(simulate(`${seed}/base`), [run]);
    for (const { metric, change_pct: change, interval_pct: interval } of found?.metrics ?? []) {
      if (interval === null || change === null) continue;
      const [low, high] = interval;
      assert.ok(low <= change && change <= high, `${seed} ${metric}: ${low} ${change} ${high}`);
      assert.ok(high > low, "seconds differ");
    }
  }
});

test("[CP7] an interval misses the truth in few comparisons, on either side", () => {
  const slowdown = 1.2;
  const missed = { below: 0, above: 0 };
  for (const seed of seeds.slice(0, 40)) {
    const [found] = compareRuns(simulate(`${seed}/base`), [simulate(`${seed}/run`, { slowdown })]);
    const median = found?.metrics.find(({ metric }) => metric === "p50");
    const [low, high] = median?.interval_pct ?? assert.fail("an interval");
    if ((slowdown - 1) * 100 < low) missed.below += 1;
    if ((slowdown - 1) * 100 > high) missed.above += 1;
  }
  // 5 of 40 on each side: more than the interval says, since neighbouring seconds are alike.
  assert.ok(missed.below <= 7 && missed.above <= 7, JSON.stringify(missed));
});

test("[CP9] a run in which nothing succeeded can be compared with nothing", () => {
  const good = simulate("good");
  const none = { p50_latency_ms: null, p95_latency_ms: null, p99_latency_ms: null, qps: 0 };
  const total = { total_operations: 0, failed_operations: 0, availability_pct: null };
  const empty = {
    ...good,
    run_id: "empty",
    record: { ...good.record, ...none, ...total },
    seconds: [],
  };
  const dead = {
    ...good,
    run_id: "dead",
    record: { ...good.record, ...none, failed_operations: good.record.total_operations },
    seconds: good.seconds.map((each) => ({ ...each, errors: each.ops, response: new Histogram() })),
  };
  for (const [base, run, wanted] of [
    [empty, good, "INCONCLUSIVE"],
    [good, empty, "INCONCLUSIVE"],
    [dead, { ...dead, run_id: "dead too" }, "INCONCLUSIVE"],
    [dead, good, "INCONCLUSIVE"],
    [bound(empty), good, "INCONCLUSIVE"],
    [good, dead, "REGRESSION"],
    [dead, dead, "NEUTRAL"],
  ] as const) {
    const [found] = compareRuns(base, [run]);
    const text = `${base.run_id}, ${run.run_id}: ${found?.reasons.join("; ")}`;
    assert.equal(found?.verdict, wanted, text);
    if (wanted === "INCONCLUSIVE") assert.match(text, /p95 of ALL cannot be compared/);
  }
});

test("[CP4] too few seconds: a large difference is INCONCLUSIVE, a small one nothing", () => {
  const base = simulate("base", { seconds: 5 });
  assert.equal(verdictOf(base, simulate("slow", { seconds: 5, slowdown: 1.5 })), "INCONCLUSIVE");
  const small = { ...base, run_id: "small" };
  const [found] = compareRuns(base, [small]);
  assert.equal(found?.verdict, "NEUTRAL");
  assert.match(found?.reasons.join("\n") ?? "", /too few seconds \(5\)/);
});

test("[CP5] differences in configuration are listed by path", () => {
  const base = simulate("base");
  const { workload } = base.scenario;
  const scenario = scenarioOf({
    workload: { ...workload, seed: 2, stages: [{ durationSeconds: 5, target: 1 }] },
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
    record: { ...base.record, qps: base.record.qps / 2 },
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
