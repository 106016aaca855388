/**
 * Targets that might pass although they should not, or the reverse, each through a whole run in
 * virtual time: generators, their series, the final record and its verdict.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { clockWakeTimer } from "../../../ground/kernel/wake-timer.ts";
import { type FinalRecord, finalRecordOf } from "../core/final-record.ts";
import type { RunStatus } from "../core/run-state.ts";
import { SeriesBook } from "../core/series-book.ts";
import type { Workload } from "../core/workload.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { type Script, ScriptedTarget } from "../testing/scripted-target.ts";
import { LoadGenerator, type RateAhead } from "./load-generator.ts";

interface Run {
  /** One for each worker. Moments are counted from the beginning of MEASUREMENT. */
  readonly scripts: readonly Script[];
  readonly refuses?: (atMs: number) => boolean;
  readonly loop?: "open" | "closed";
  readonly seconds?: number;
  readonly warmupMs?: number;
  /** By operation. */
  readonly weights?: Readonly<Record<string, number>>;
  readonly qps?: number;
  /** From the beginning of MEASUREMENT. */
  readonly ahead?: readonly RateAhead[];
  readonly thinkTimeMs?: number;
  readonly operationTimeoutMs?: number;
  /** It is cancelled at this moment. */
  readonly stopMs?: number;
}

/** Operations in turn, by their weights. */
function workloadOf(weights: Readonly<Record<string, number>>): Workload {
  const names = Object.keys(weights);
  const order = names.flatMap((name) => new Array<string>(weights[name] ?? 0).fill(name));
  let next = 0;
  return {
    operations: names.map((name) => ({
      operation: {
        name,
        kind: name === "put" ? "UPDATE" : "POINT_LOOKUP",
        parameters: [],
        statements: [{ texts: ["SELECT 1"], parameters: [] }],
        isTransaction: false,
      },
      weight: weights[name] ?? 0,
      fill: () => undefined,
    })),
    choose: () => names.indexOf(order[next++ % order.length] ?? ""),
  };
}

async function judged(run: Run): Promise<FinalRecord> {
  const { scripts, loop = "closed", seconds = 60, warmupMs = 2_000, weights = { look: 1 } } = run;
  const { thinkTimeMs = 0, operationTimeoutMs = 30_000, qps = 100, ahead = [] } = run;
  const endMs = warmupMs + seconds * 1_000;
  const clock = new VirtualClock();
  const workers = scripts.map((script, index) => {
    const workload = workloadOf(weights);
    const operations = workload.operations.map(({ operation }) => operation);
    const book = new SeriesBook(operations, "WARMUP");
    book.cut("MEASUREMENT", warmupMs);
    book.cut("COOLDOWN", endMs);
    const target = new ScriptedTarget(
      clock,
      (operation, atMs) => script(operation, atMs - warmupMs),
      (atMs) => run.refuses?.(atMs - warmupMs) ?? false,
    );
    const generator = new LoadGenerator({
      ...{ target, workload, book, clock, loop, thinkTimeMs, operationTimeoutMs },
      wake: clockWakeTimer(clock),
      prng: createPrng(index),
      arrivals: "uniform",
      turn: { index, count: scripts.length },
      depth: 1,
    });
    const rates = ahead.map((each) => ({ ...each, fromMs: each.fromMs + warmupMs }));
    generator.setTarget({ connections: 8, qps: qps / scripts.length, rampMs: 0, ahead: rates });
    return { book, generator };
  });
  const stopMs = run.stopMs === undefined ? endMs : warmupMs + run.stopMs;
  await clock.advance(stopMs + 300); // STOP comes a moment late.
  for (const { book } of workers) book.stopAt(stopMs);
  const drained = workers.map(({ generator }) => generator.drain(10_000));
  await clock.advance(12_000);
  await Promise.all(drained);
  const series = workers.flatMap(({ book }) => book.snapshot());
  const status: RunStatus = run.stopMs === undefined ? "COMPLETED" : "CANCELLED";
  const scenario = scenarioOf({ workload: { loadMode: loop === "open" ? "QPS" : "CONCURRENCY" } });
  return finalRecordOf({
    scenario: { ...scenario, slos: [{ of: "ALL", metric: "p95", limit: 1_000 }] },
    series: series.filter(({ phase }) => phase === "MEASUREMENT"),
    measuredSeconds: (stopMs - warmupMs) / 1_000,
    health: [],
    answering: workers.map(({ generator }) => generator.answering),
    errorExamples: {},
    workerCount: scripts.length,
    lostWorkers: 0,
    status,
  });
}

const fine: Script = () => 10;
const silentUntil =
  (ms: number): Script =>
  (_, atMs) =>
    atMs < ms ? Math.max(10, ms - atMs) : 10;
const silentBetween =
  (fromMs: number, toMs: number): Script =>
  (_, atMs) =>
    atMs >= fromMs && atMs < toMs ? "silence" : 10;
const both = ["open", "closed"] as const;

interface Case extends Run {
  readonly name: string;
  readonly verdict: FinalRecord["verdict"];
  readonly reason?: RegExp;
}

const cases: readonly Case[] = [
  ...both.flatMap((loop): readonly Case[] => [
    { name: `${loop}: a good one`, loop, scripts: [fine], verdict: "PASSED" },
    {
      name: `${loop}: silent for its first 6 s, then at once`,
      ...{ loop, scripts: [silentUntil(6_000)], verdict: "FAILED" },
      reason: /longest silence 5\.\d+ s|longest silence 6 s|availability/,
    },
    {
      name: `${loop}: away for the last 2 s, and never heard of again`,
      ...{ loop, scripts: [silentBetween(58_000, Infinity)], verdict: "FAILED" },
      reason: /availability|never answered/,
    },
    {
      name: `${loop}: away for the first 2 s`,
      ...{ loop, scripts: [silentBetween(0, 2_000)], operationTimeoutMs: 2_000, verdict: "FAILED" },
      reason: /availability/,
    },
    {
      name: `${loop}: slower and slower, up to 12 s`,
      ...{ loop, scripts: [(_: string, atMs: number) => 10 + Math.max(0, atMs) / 5] },
      ...{ verdict: "FAILED", reason: /p95 of ALL|never answered/ },
    },
    {
      name: `${loop}: one operation of fifty never succeeds`,
      ...{ loop, weights: { look: 49, put: 1 }, verdict: "FAILED" },
      scripts: [(operation) => (operation === "put" ? { failsAfterMs: 5 } : 10)],
      reason: /operation put never succeeded: \d+ failed/,
    },
    {
      name: `${loop}: one of four workers sees a dead target`,
      ...{ loop, scripts: [fine, fine, fine, silentBetween(-Infinity, Infinity)] },
      ...{ verdict: "FAILED", reason: /longest silence 60 s/ },
    },
    {
      name: `${loop}: one of four workers only hears failures`,
      ...{ loop, scripts: [fine, fine, fine, () => ({ failsAfterMs: 1_000 })] },
      ...{ verdict: "FAILED", reason: /longest silence 60 s/ },
    },
    { name: `${loop}: cancelled after 1 s`, loop, scripts: [fine], stopMs: 1_000, verdict: null },
    {
      name: `${loop}: cancelled after 1 s, in which nothing was answered`,
      ...{ loop, scripts: [() => "silence" as const], stopMs: 1_000, verdict: "FAILED" },
    },
    { name: `${loop}: 1 s that is good`, loop, seconds: 1, scripts: [fine], verdict: "PASSED" },
    {
      name: `${loop}: 2 s of which one is silent`,
      ...{ loop, seconds: 2, scripts: [silentBetween(1_000, Infinity)], verdict: "FAILED" },
    },
    {
      name: `${loop}: 2 s, the last 0.4 of them silent, and nothing is heard again`,
      ...{ loop, seconds: 2, scripts: [silentBetween(1_600, Infinity)], verdict: "FAILED" },
      reason: /availability (79|80|81)/,
    },
    {
      name: `${loop}: 2 s, the last 0.4 of them a pause`,
      ...{ loop, seconds: 2, verdict: "PASSED" },
      scripts: [(_: string, atMs: number) => (atMs < 1_600 ? 10 : Math.max(10, 2_000 - atMs))],
    },
    {
      name: `${loop}: an operation without weight is not missed`,
      ...{ loop, weights: { look: 1, put: 0 }, scripts: [fine], verdict: "PASSED" },
    },
  ]),
  {
    name: "open: a stage without arrivals is no silence",
    ...{ loop: "open", scripts: [fine], verdict: "PASSED" },
    ahead: [
      { qps: 0, rampMs: 0, fromMs: 10_000 },
      { qps: 100, rampMs: 0, fromMs: 50_000 },
    ],
  },
  {
    name: "open: away while a stage has no arrivals, and back in time",
    ...{ loop: "open", scripts: [silentBetween(10_100, 49_900)], verdict: "PASSED" },
    ahead: [
      { qps: 0, rampMs: 0, fromMs: 10_000 },
      { qps: 100, rampMs: 0, fromMs: 50_000 },
    ],
  },
  {
    name: "open: no arrivals at all measure nothing",
    ...{ loop: "open", scripts: [fine], verdict: "FAILED", reason: /nothing was measured/ },
    ahead: [{ qps: 0, rampMs: 0, fromMs: 0 }],
  },
  {
    name: "closed: connections are refused for the first 3 s",
    ...{ scripts: [fine], refuses: (atMs: number) => atMs < 3_000, verdict: "FAILED" },
    reason: /availability 9[45]/,
  },
  {
    name: "closed: people who think for longer than the run measure nothing",
    ...{ scripts: [fine], thinkTimeMs: 120_000, verdict: "FAILED", reason: /nothing was measured/ },
  },
  {
    name: "closed: people who think for long are no silence",
    ...{ scripts: [fine], thinkTimeMs: 7_000, verdict: "PASSED" },
  },
];
for (const { name, verdict, reason, ...run } of cases) {
  test(`[VE1] [SO4] a target is judged by what it did: ${name}`, async () => {
    const record = await judged(run);
    const said = record.reasons.join("\n");
    assert.equal(record.verdict, verdict, JSON.stringify({ ...record, operations: [] }));
    if (reason !== undefined) assert.match(said, reason);
    if (verdict !== "FAILED") assert.equal(said, "");
  });
}
