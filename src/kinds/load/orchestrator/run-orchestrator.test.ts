/**
 * Runs from their start to their end, in virtual time: the real store, real decisions, workers that
 * obey.
 */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stopAction } from "../core/decide-run.ts";
import type { RunId } from "../core/ids.ts";
import { readSecondRows } from "../service/read-test.ts";
import { openTarget } from "../targets/open-target.ts";
import { createTargetFiles } from "../targets/target-files.ts";
import { testWorker } from "../testing/ids.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { changeOf } from "./change-of.ts";
import { RunWorld } from "./testing/run-world.ts";

const short = { durationSeconds: 10, warmupSeconds: 6, concurrentConnections: 12 };
const three = scenarioOf({ workload: short, scaling: { workerCount: 3 } });

test("[OR1] [OR2] a run goes through its phases, and its end is the sum of its workers", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  const seen = await world.untilEnd(runId);
  assert.deepEqual(seen, [
    "RUNNING PREPARING",
    "RUNNING WARMUP",
    "RUNNING MEASUREMENT",
    "STOPPING COOLDOWN",
    "COMPLETED PROCESSING",
  ]);
  const targets = ["SET_WORKER_TARGET", "SET_WORKER_TARGET", "SET_WORKER_TARGET"];
  assert.deepEqual(await world.events(runId), [
    ...targets,
    "START",
    "WARMUP",
    "MEASUREMENT",
    "STOP",
  ]);
  const { run } = await world.look(runId);
  assert.equal(run.warmupEndTimeMs, (run.warmupStartTimeMs ?? 0) + 6_000);
  const measuredMs = (run.stopTimeMs ?? 0) - (run.warmupEndTimeMs ?? 0);
  assert.ok(measuredMs >= 10_000 && measuredMs < 11_100, `${measuredMs} ms were measured`);
  const parent = await world.parent(runId);
  const done = world.machine.all.reduce((sum, worker) => sum + worker.measuredOps, 0);
  assert.ok(done > 0);
  assert.equal(parent.total_operations, done);
  assert.equal(parent.start_time_ms, run.startTimeMs);
  assert.equal(world.machine.processes.size, 0);
  const seconds = await readSecondRows(world.store, runId, { afterMs: 0, limit: 100 });
  assert.ok(seconds.length >= 16 && seconds.some(({ qps }) => Math.abs(qps - 240) < 1));
  const alone = seconds.filter(({ phase }) => phase === "MEASUREMENT").slice(2, -1);
  assert.ok(alone.every(({ interval_ops: ops }) => Math.abs(ops - 240) < 30));
  assert.ok(alone.every(({ interval_p50_ms: p50, p50_latency_ms: all }) => p50 === all));
});

const noLatency = {
  p50_latency_ms: 1,
  p90_latency_ms: 2,
  p95_latency_ms: 3,
  p99_latency_ms: 3,
  p999_latency_ms: 5,
  avg_latency_ms: 1,
  min_latency_ms: 1,
  max_latency_ms: 6,
};

test("[AM1] [AM3] PROCESSING is shown while enrichment is not done, then its status", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  world.target.capabilities = { ...world.target.capabilities, enrichment: "perQuery" };
  const overhead = { p50: 1, p95: 2, p99: 3 };
  world.enrichment = [{ ratio: 0.3 }, { ratio: 0.6 }, { ratio: 0.95, overhead }];
  const runId = await world.start(coordinator, three);
  await world.untilEnd(runId);
  const update = await world.update(runId);
  assert.deepEqual([update.status, update.phase], ["COMPLETED", "PROCESSING"]);
  await world.clock.advance(15_000);
  assert.equal((await world.parent(runId)).enrichment_status, "RUNNING");
  coordinator.crash();
  world.enrichment = [{ ratio: 0.92, overhead }];
  const { total_operations: ops, failed_operations: failed } = await world.parent(runId);
  const latency = new Map([["ALL", { ...noLatency, p99_latency_ms: 4 }]]);
  world.percentiles = { recordCount: ops, successCount: ops - failed, latency };
  await world.lead();
  await world.clock.advance(1_000);
  const parent = await world.parent(runId);
  assert.equal(parent.enrichment_status, "COMPLETED");
  assert.equal(parent.enrichment_ratio, 0.92);
  assert.equal(parent.app_overhead_p99_ms, 3);
  assert.equal(parent.p99_latency_ms, 4);

  const aggregate = new RunWorld();
  aggregate.target.capabilities = { ...aggregate.target.capabilities, enrichment: "aggregate" };
  const askedMs: number[] = [];
  const figures = aggregate.target.statementFigures.bind(aggregate.target);
  aggregate.target.statementFigures = async () => {
    askedMs.push(aggregate.clock.wallMs());
    const calls = askedMs.length * 5;
    return [...(await figures()), { text: "SELECT pay FROM salaries", calls, totalMs: 1, rows: 1 }];
  };
  const other = await aggregate.lead();
  const otherId = await aggregate.start(other, three);
  await aggregate.untilEnd(otherId);
  const after = await aggregate.parent(otherId);
  const { run: ended } = (await other.orchestrator.runs.look(otherId)) ?? {};
  const begunMs = ended?.warmupEndTimeMs ?? 0;
  const lengthMs = three.workload.durationSeconds * 1000;
  assert.deepEqual(askedMs, [begunMs, begunMs + lengthMs]); // AM3
  assert.ok(!after.figures.includes("salaries"));
  assert.equal(after.enrichment_status, "AGGREGATE");
  assert.deepEqual(JSON.parse(after.figures).statements, [
    { text: "SELECT 1", calls: 100, totalMs: 200, rows: 100 },
  ]);
  assert.ok(!(await warningsOf(aggregate, otherId)).includes("no figures"));
});

async function warningsOf(world: RunWorld, runId: RunId): Promise<string> {
  const rows = await world.store.read(({ db }) =>
    db
      .selectFrom("test_logs")
      .select("message")
      .where("run_id", "=", runId)
      .where("level", "=", "WARNING")
      .execute(),
  );
  return rows.map(({ message }) => message).join("\n");
}

test("[AM4] statements of which the server has no figures are named in the run's log", async () => {
  const world = new RunWorld();
  world.target.capabilities = { ...world.target.capabilities, enrichment: "aggregate" };
  world.target.statementFigures = async () => [];
  const runId = await world.start(await world.lead(), three);
  await world.untilEnd(runId);
  await world.clock.advance(1_000);
  assert.match(await warningsOf(world, runId), /no figures of 1 of 1 statements: SELECT 1/);
});

test("[AM2] a server that cannot be asked after a run is enrichment's failure, not the run's", async () => {
  const world = new RunWorld();
  world.target.capabilities = { ...world.target.capabilities, enrichment: "perQuery" };
  world.enrichment = "it does not answer";
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  await world.untilEnd(runId);
  await world.clock.advance(1_000);
  const parent = await world.parent(runId);
  assert.deepEqual([parent.status, parent.enrichment_status], ["COMPLETED", "FAILED"]);
  assert.equal(parent.enrichment_error, "it does not answer");
  const done = parent.total_operations;
  world.enrichment = [{ ratio: 1 }];
  await coordinator.orchestrator.retryEnrichment(runId);
  await world.clock.advance(1_000);
  const again = await world.parent(runId);
  assert.deepEqual([again.enrichment_status, again.total_operations], ["COMPLETED", done]);
});

for (const [name, when] of [
  ["before any worker was started", "spawn"],
  ["in PREPARING", "PREPARING"],
  ["in WARMUP", "WARMUP"],
  ["in MEASUREMENT", "MEASUREMENT"],
  ["in COOLDOWN", "COOLDOWN"],
] as const) {
  test(`[OC2] [WF1] a coordinator that dies ${name}: the next one goes on`, async () => {
    const world = new RunWorld();
    world.machine.startMs = 2_500;
    world.machine.drainMs = 5_000;
    const first = await world.lead();
    if (when === "spawn") {
      const request = { scenario: three, testName: "test", password: null };
      const runId = await first.orchestrator.prepareRun(request);
      const starting = first.orchestrator.startRun(runId);
      first.crash();
      await starting;
      await resume(world, runId);
      return;
    }
    const runId = await world.start(first, three);
    await world.until(runId, ({ run }) => run.phase === when);
    await world.clock.advance(1_500);
    first.crash();
    await resume(world, runId);
  });
}

test("[OC2] a start, and an end, that were written and nobody knows of it are seen to all the same", async () => {
  const world = new RunWorld();
  const { orchestrator } = await world.lead();
  const request = { scenario: three, testName: "test", password: null };
  const runId = await orchestrator.prepareRun(request);
  world.answersLost = 1;
  await assert.rejects(orchestrator.startRun(runId), { code: "commit_unknown" });
  await world.until(runId, ({ run }) => run.phase === "COOLDOWN");
  world.answersLost = 5;
  await world.untilEnd(runId);
  await world.clock.advance(20_000);
  assert.equal(world.machine.all.length, 3);
  const parent = await world.parent(runId);
  assert.deepEqual([parent.status, parent.enrichment_status], ["COMPLETED", "SKIPPED"]);
});

test("[SW1] [SW4] a second process of one name: both count, and one that comes after the end changes nothing", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  await world.clock.advance(4_000);
  const again = { runId, workerId: testWorker("worker-1"), groupId: 1, groupCount: 3 };
  world.machine.start(again);
  await world.untilEnd(runId);
  const { total_operations: total } = await world.parent(runId);
  const done = world.machine.all.reduce((sum, worker) => sum + worker.measuredOps, 0);
  assert.ok(total > 0 && total <= done && total >= done * 0.9, `${total} of ${done}`);
  const shown = async () => (await world.update(runId)).run.aggregate_metrics.total_ops;
  assert.equal(await shown(), total);
  world.machine.start(again);
  await world.clock.advance(5_000);
  assert.equal(await shown(), total);
  assert.ok((await world.look(runId)).workers.every(({ status }) => status === "COMPLETED"));
});

test("[OR2] a coordinator that still believes that it leads does nothing any more", async () => {
  const world = new RunWorld();
  world.machine.startMs = 20_000;
  const first = await world.lead();
  const request = { scenario: three, testName: "test", password: null };
  const runId = await first.orchestrator.prepareRun(request);
  const starting = first.orchestrator.startRun(runId);
  const second = await world.lead();
  await starting;
  await world.untilEnd(runId);
  assert.equal((await world.look(runId)).run.status, "COMPLETED");
  assert.equal(world.machine.all.length, 3);
  await assert.rejects(first.orchestrator.prepareRun(request), { code: "lease_lost" });
  await second.orchestrator.prepareRun(request);
});

async function resume(world: RunWorld, runId: RunId): Promise<void> {
  await world.clock.advance(3_000);
  await world.lead();
  await world.untilEnd(runId);
  const { run, workers } = await world.look(runId);
  assert.equal(run.status, "COMPLETED");
  assert.equal(world.machine.all.length, 3);
  assert.ok(workers.every(({ status }) => status === "COMPLETED"));
  const parent = await world.parent(runId);
  const done = world.machine.all.reduce((sum, worker) => sum + worker.measuredOps, 0);
  assert.equal(parent.total_operations, done);
  const seen = world.machine.all[0]?.seen.map(({ sequence }) => sequence) ?? [];
  assert.deepEqual(
    seen,
    [...seen].sort((left, right) => left - right),
  );
  const stops = (await world.events(runId)).filter((event) => event === "STOP");
  assert.equal(stops.length, 1);
  await world.clock.advance(30_000);
  assert.equal(world.machine.processes.size, 0);
}

test("[WF2] [WT4] a worker that dies: a warning, its share to the others, its work counted", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  await world.clock.advance(3_000);
  const [victim, second] = world.machine.all;
  world.machine.kill(victim?.identity.processId ?? 0);
  const told = victim?.measuredOps ?? 0;
  assert.ok(told > 0);
  await world.clock.advance(3_000);
  const update = await world.update(runId);
  assert.deepEqual(update.warnings, ["1/3 workers unresponsive"]);
  assert.equal(update.workers[0]?.health, "DEAD");
  const { run } = await world.look(runId);
  assert.deepEqual(
    Object.entries(run.targets).map(([id, target]) => [id, target.connections]),
    [
      ["worker-1", 6],
      ["worker-2", 6],
    ],
  );
  assert.equal(second?.connections, 6);
  await world.untilEnd(runId);
  const parent = await world.parent(runId);
  const done = world.machine.all.reduce((sum, worker) => sum + worker.measuredOps, 0);
  assert.equal(parent.status, "COMPLETED");
  assert.equal(parent.total_operations, done);
});

test("[FI6] [FI1] arrivals that were due on a killed worker are unserved, in every figure", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const load = { targetQps: 100, warmupSeconds: 0, durationSeconds: 14 };
  const scaling = { workerCount: 2, minHealthyWorkers: 1 };
  const runId = await world.start(
    coordinator,
    scenarioOf({ workload: { ...load, loadMode: "QPS" }, scaling }),
  );
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  await world.clock.advance(6_000);
  world.machine.kill(world.machine.all[0]?.identity.processId ?? 0);
  await world.untilEnd(runId);
  const parent = await world.parent(runId);
  const { final } = JSON.parse(parent.figures);
  assert.ok(final.unserved >= 40 && final.unserved <= 200, `${final.unserved} unserved`);
  assert.equal(parent.unserved, final.unserved);
  assert.equal(final.verdict, "FAILED");
  assert.match(final.reasons.join(), /were due and never answered/);
  assert.ok(final.at_least.includes("p99_latency_ms"), JSON.stringify(final.at_least));
  const update = await world.update(runId);
  assert.equal(update.run.aggregate_metrics.unserved, final.unserved);
});

test("[OR3] too few workers are a worker failure; so is one that cannot be started", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  await world.until(runId, ({ run }) => run.phase === "WARMUP");
  for (const worker of world.machine.all.slice(0, 2)) world.machine.kill(worker.identity.processId);
  const seen = await world.untilEnd(runId);
  assert.deepEqual(seen.slice(-2), ["CANCELLING COOLDOWN", "FAILED COOLDOWN"]);
  const { run } = await world.look(runId);
  assert.equal(run.cancellationReason, "Worker failure: 2 worker(s) stopped responding");
  coordinator.spawner.isBroken = true;
  const broken = await world.start(coordinator, three);
  await world.untilEnd(broken, 10);
  assert.equal((await world.look(broken)).run.status, "FAILED");
});

test("[OC3] a person stops a run; who does not drain is signalled, and the run ends on time", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const runId = await world.start(coordinator, three);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  const [stuck] = world.machine.all;
  assert.ok(stuck !== undefined);
  stuck.isStuck = true;
  await coordinator.orchestrator.stopRun(runId, "api");
  await coordinator.orchestrator.stopRun(runId, "api");
  await world.clock.advance(2_000);
  assert.deepEqual(
    world.machine.all.map(({ connections }) => connections),
    [0, 0, 0],
  );
  const stoppedMs = (await world.look(runId)).run.stopTimeMs ?? 0;
  await world.untilEnd(runId);
  coordinator.crash();
  const { orchestrator } = await world.lead();
  const { run } = await world.look(runId);
  assert.equal(run.status, "CANCELLED");
  assert.equal(run.cancellationReason, "User requested cancellation");
  const lateMs = (run.endTimeMs ?? 0) - stoppedMs - 120_000;
  assert.ok(lateMs >= 0 && lateMs <= 1_100, `the end was ${lateMs} ms late`);
  assert.deepEqual(world.machine.signals, []);
  await world.clock.advance(12_000);
  assert.deepEqual(world.machine.signals, ["worker-0 SIGTERM"]);
  await world.clock.advance(10_000);
  assert.deepEqual(world.machine.signals, ["worker-0 SIGTERM", "worker-0 SIGKILL"]);
  assert.equal(world.machine.processes.size, 0);
  await orchestrator.stopRun(runId, "api");

  const never = await orchestrator.prepareRun({ scenario: three, testName: "n", password: null });
  await orchestrator.stopRun(never, "api");
  assert.equal((await world.parent(never)).status, "CANCELLED");
  await assert.rejects(orchestrator.startRun(never), { code: "conflict" });
});

test("[OR4] a guardrail takes load back first, and fails the run if that does not help", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const guardrails = { maxErrorRatePct: 5, graceSeconds: 5 };
  const scenario = scenarioOf({ workload: { ...short, durationSeconds: 60 }, guardrails });
  const runId = await world.start(coordinator, scenario);
  await world.until(runId, ({ run }) => run.phase === "MEASUREMENT");
  world.machine.servers.errorShare = 0.2;
  await world.until(runId, ({ run }) => run.control?.loadShare === 0.75);
  assert.equal((await world.look(runId)).run.targets["worker-0"]?.connections, 9);
  await world.untilEnd(runId);
  const { run } = await world.look(runId);
  assert.equal(run.status, "FAILED");
  assert.equal(run.cancellationReason, "Guardrail triggered: error rate 20.0 % is above 5 %");
});

test("[OR4] an objective that is missed fails the run, where that was asked for", async () => {
  const world = new RunWorld();
  const guardrails = { abortOnSlo: true, graceSeconds: 3 };
  const slos = [{ of: "POINT_LOOKUP", metric: "p99", limit: 10 }] as const;
  const scenario = { ...scenarioOf({ workload: short, guardrails }), slos };
  const runId = await world.start(await world.lead(), scenario);
  await world.untilEnd(runId);
  const { run } = await world.look(runId);
  assert.equal(run.status, "FAILED");
  const reason = "Guardrail triggered: p99 of POINT_LOOKUP is 50 ms; at most 10 ms is allowed";
  assert.equal(run.cancellationReason, reason);
});

test("[OR5] QPS grows where arrivals wait, with workers that join in MEASUREMENT; BOUNDED ends at its limit", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  world.machine.servers.servers = 100;
  const workload = {
    loadMode: "QPS",
    targetQps: 400,
    concurrentConnections: 8,
    durationSeconds: 60,
    warmupSeconds: 2,
  } as const;
  const auto = scenarioOf({ workload, scaling: { perWorkerCapacity: 8 } });
  const runId = await world.start(coordinator, auto);
  await world.untilEnd(runId);
  const { run, workers } = await world.look(runId);
  assert.equal(run.status, "COMPLETED");
  assert.ok(workers.length >= 3, `${workers.length} workers`);
  const late = world.machine.all.at(-1);
  assert.ok(late !== undefined && late.measuredOps > 0);
  assert.ok(!late.book.snapshot().some(({ phase }) => phase === "WARMUP"));
  const sum = Object.values(run.targets).reduce((all, target) => all + (target.qps ?? 0), 0);
  assert.ok(Math.abs(sum - 400) < 1e-6);

  const scaling = { mode: "BOUNDED", maxWorkers: 2, maxConnections: 6 } as const;
  const bounded = await world.start(coordinator, scenarioOf({ workload, scaling }));
  await world.untilEnd(bounded);
  const limited = (await world.look(bounded)).run;
  assert.equal(limited.status, "COMPLETED");
  assert.equal(limited.cancellationReason, "BOUNDS_LIMIT_REACHED");
});

test("[OR6] stages are announced ahead, with their beginning and their ramp", async () => {
  const world = new RunWorld();
  const coordinator = await world.lead();
  const stages = [
    { durationSeconds: 5, target: 24 },
    { durationSeconds: 5, target: 6 },
  ];
  const runId = await world.start(coordinator, scenarioOf({ workload: { ...short, stages } }));
  await world.untilEnd(runId);
  const told = world.machine.all[0]?.seen.flatMap((event) =>
    event.type === "SET_WORKER_TARGET" ? [event] : [],
  );
  assert.deepEqual(
    told?.map(({ target, rampSeconds }) => [target.connections, rampSeconds]),
    [
      [12, 0],
      [24, 5],
      [6, 5],
    ],
  );
  const look = await coordinator.orchestrator.runs.look(runId);
  const begunMs = look?.run.warmupEndTimeMs ?? 0;
  assert.deepEqual(
    told?.map(({ atMs }) => atMs && atMs - begunMs),
    [null, 0, 5_000],
  );
  // LW5
  assert.ok(told?.every(({ to }) => to.scope === "WORKER" && to.groupId === 0));
});

test("[OR7] FIND_MAX finds a queue's servers, step by step, through the death of a coordinator", async () => {
  const world = new RunWorld();
  const first = await world.lead();
  const scenario = scenarioOf({
    workload: { loadMode: "FIND_MAX_CONCURRENCY", warmupSeconds: 0 },
    findMax: { stepDurationSeconds: 8, startConcurrency: 4, concurrencyIncrement: 8 },
    scaling: { perWorkerCapacity: 16 },
  });
  const runId = await world.start(first, scenario);
  await world.until(runId, ({ run }) => run.findMax?.state.step === 2);
  first.crash();
  await world.lead();
  await world.untilEnd(runId, 1_200);
  const parent = await world.parent(runId);
  assert.equal(parent.status, "COMPLETED");
  const result = JSON.parse(parent.find_max_result ?? "{}");
  assert.ok(
    result.max_concurrency >= 18 && result.max_concurrency <= 22,
    parent.find_max_result ?? "",
  );
  assert.equal(result.true_max, true);
  const steps = await world.store.read(({ db }) =>
    db
      .selectFrom("find_max_step_history")
      .select(["step_number", "outcome", "total_target_connections", "qps"])
      .where("run_id", "=", runId)
      .orderBy("step_number")
      .execute(),
  );
  assert.deepEqual(
    steps.map(({ step_number: number }) => number),
    steps.map((_, index) => index + 1),
  );
  assert.equal(steps.at(-1)?.outcome, "CONFIRMED");
  assert.ok(Math.abs((steps[0]?.qps ?? 0) - 80) < 1, `${steps[0]?.qps} operations a second`);
  assert.ok(world.machine.all.length >= 2, "more connections than one worker drives");
});

test("[FM10] the stored history of a search has each step as it was judged last", async () => {
  const world = new RunWorld();
  const scenario = scenarioOf({
    workload: { loadMode: "FIND_MAX_CONCURRENCY", warmupSeconds: 0 },
    findMax: { stepDurationSeconds: 8, startConcurrency: 48, concurrencyIncrement: 16 },
  });
  const runId = await world.start(await world.lead(), scenario);
  await world.until(runId, ({ run }) => run.findMax?.state.step === 4);
  const steps = await world.store.read(({ db }) =>
    db
      .selectFrom("find_max_step_history")
      .select(["outcome", "stop_reason", "total_target_connections as connections"])
      .where("run_id", "=", runId)
      .orderBy("step_number")
      .execute(),
  );
  const [first] = steps;
  assert.equal(first?.connections, 48);
  assert.ok(["PLATEAU", "DEGRADED"].includes(`${first?.outcome}`), `${first?.outcome}`);
  assert.match(`${first?.stop_reason}`, /instead of|above that of/);
  const { logs } = await world.update(runId);
  assert.ok(JSON.stringify(logs).includes("step 1, 48 connections, is judged anew"));
});

test("[OR8] what the server says is stored, and a queue ends a step", async () => {
  const world = new RunWorld();
  world.target.capabilities = { ...world.target.capabilities, pollsServer: true };
  const scenario = scenarioOf({
    workload: { loadMode: "FIND_MAX_CONCURRENCY", warmupSeconds: 0 },
    findMax: { stepDurationSeconds: 8, startConcurrency: 4, concurrencyIncrement: 4 },
  });
  const quiet = {
    name: "db",
    startedClusters: null,
    running: 4,
    queued: 0,
    minClusterCount: null,
    maxClusterCount: null,
    scalingPolicy: null,
    raw: { waiting: 0 },
  };
  world.target.poll = quiet;
  const runId = await world.start(await world.lead(), scenario);
  await world.until(runId, ({ run }) => run.findMax?.state.step === 2);
  world.target.poll = { ...quiet, queued: 3 };
  await world.until(runId, ({ run }) => run.findMax?.state.step === 3);
  const row = await world.store.read(({ db }) =>
    db
      .selectFrom("find_max_step_history")
      .select(["outcome", "queue_detected"])
      .where("step_number", "=", 2)
      .executeTakeFirstOrThrow(),
  );
  assert.deepEqual([row.outcome, row.queue_detected], ["QUEUE_DETECTED", 1]);
  assert.equal((await world.update(runId)).warehouse?.queued, 3);
});

test("[OC1] [OC4] what cannot be started is refused at Prepare, and no password is stored", async () => {
  const world = new RunWorld();
  const { orchestrator, crash } = await world.lead();
  const prepare = (changes: Parameters<typeof scenarioOf>[0]) =>
    orchestrator.prepareRun({ scenario: scenarioOf(changes), testName: "t", password: "hush" });
  const [operation] = three.workload.operations;
  assert.ok(operation !== undefined);
  const nonsense = { ...operation, statements: ["SELECT nonsense"] };
  await assert.rejects(prepare({ workload: { operations: [nonsense] } }), { code: "bad_sql" });
  const unknown = { ...operation, statements: ["SELECT :id"] };
  await assert.rejects(prepare({ workload: { operations: [unknown] } }), { code: "bad_request" });
  await assert.rejects(prepare({ target: { url: "postgres://prod/db" } }), { code: "forbidden" });
  const many = { concurrentConnections: 1_000_000 };
  await assert.rejects(prepare({ workload: many }), { code: "bad_request" });
  const count = await world.store.read(({ db }) =>
    db.selectFrom("run_status").select("run_id").execute(),
  );
  assert.deepEqual(count, []);
  const runId = await prepare({});
  const { run } = await world.look(runId);
  assert.ok(run.targetSecret !== null && !JSON.stringify(run).includes("hush"));
  crash();
  await assert.rejects(orchestrator.startRun(runId), { code: "not_leader" });
});

test("[OC5] a run whose target file may no longer be opened is refused at its start, with the reason, and stays prepared", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "capstan-walls-"));
  try {
    const world = new RunWorld();
    const { orchestrator } = await world.lead();
    const clock = world.clock;
    for (const kind of ["sqlite", "duckdb"] as const) {
      const path = join(dataDir, `outside.${kind}`);
      const target = { kind, url: `${kind}://${path}` };
      const scenario = scenarioOf({ target });
      world.openTarget = async () => world.target; // As a version without walls had it.
      const runId = await orchestrator.prepareRun({ scenario, testName: "t", password: null });
      const files = createTargetFiles({ dataDir });
      world.openTarget = (config, password, tag) =>
        openTarget(config, password, clock, { files, tag });
      await assert.rejects(orchestrator.startRun(runId), {
        code: "forbidden",
        message: `${path} may not be opened by a load test`,
      });
      await clock.advance(5_000);
      assert.equal((await world.look(runId)).run.status, "PREPARED");
      assert.equal(existsSync(path), false);
    }
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test("[LW20] a stop after the announced beginning of MEASUREMENT, which no look has stored yet, stores it", async () => {
  const world = new RunWorld();
  const { orchestrator } = await world.lead();
  const runId = await orchestrator.prepareRun({ scenario: three, testName: "t", password: null });
  const look = await world.look(runId);
  for (const [announcedMs, begunMs] of [
    [look.nowMs - 300, look.nowMs - 300],
    [look.nowMs + 300, undefined],
    [null, undefined],
  ] as const) {
    const seen = { ...look, measurementAnnouncedMs: announcedMs };
    const change = changeOf(seen, stopAction("user_requested", ""), "test");
    assert.deepEqual([change.warmupEndTimeMs, change.stopTimeMs], [begunMs, look.nowMs]);
  }
});
