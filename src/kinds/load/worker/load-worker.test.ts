/** A load worker in virtual time, against a store in memory and a target of known behaviour. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { clockWakeTimer } from "../../../ground/kernel/wake-timer.ts";
import type { ControlEvent, WorkerTarget } from "../core/control-events.ts";
import { figuresOf } from "../core/figures.ts";
import type { WorkerEnd } from "../core/load-worker-state.ts";
import type { RunPhase } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import type { RunView } from "../core/worker-control.ts";
import type { LivePost, WorkerSnapshot } from "../core/worker-snapshot.ts";
import type { Executed } from "../generator/load-generator.ts";
import { testRun, testWorker } from "../testing/ids.ts";
import { MemoryControl } from "../testing/memory-control.ts";
import { QueueTarget } from "../testing/queue-target.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { LoadWorker } from "./load-worker.ts";

const meterOf = (cpuPercent: number) => ({
  take: () => ({
    event_loop_delay_ms_p99: 0,
    event_loop_delay_ms_mean: 0,
    cpu_percent: cpuPercent,
    memory_percent: 1,
    rss_bytes: 1,
  }),
});

/** Says when each operation began. */
class WatchedTarget extends QueueTarget {
  readonly begun: number[] = [];
  sqlError: OperatingError | undefined;

  override admit(atMs: number): number {
    this.begun.push(atMs);
    return super.admit(atMs);
  }

  override async connect(depth: number, signal: AbortSignal) {
    if (this.sqlError !== undefined) throw this.sqlError;
    return await super.connect(depth, signal);
  }
}

interface Launch {
  readonly row?: Partial<Omit<RunView, "nowMs">>;
  readonly workload?: Partial<Scenario["workload"]>;
  readonly serviceMs?: number;
  readonly cpuPercent?: number;
}

function launch({ row = {}, workload = {}, serviceMs = 100, cpuPercent = 1 }: Launch = {}) {
  const clock = new VirtualClock({ startMs: 5_000 });
  const scenario = scenarioOf({ workload: { concurrentConnections: 4, ...workload } });
  const control = new MemoryControl({ clock, scenario });
  control.change(row);
  const target = new WatchedTarget({ clock, servers: 1_000, serviceMs });
  const live: LivePost[] = [];
  const executed: Executed[] = [];
  const finishedRecords: number[] = [];
  const worker = new LoadWorker({
    identity: {
      runId: testRun("run"),
      workerId: testWorker("worker-1"),
      groupId: 1,
      groupCount: 2,
      testId: "test",
      incarnation: "i-1",
      hostName: "here",
      processId: 1,
    },
    control,
    openTarget: async () => target,
    readPools: async () => new Map(),
    openRecorder: () => ({
      record: (each) => void executed.push(each),
      finish: async () => void finishedRecords.push(clock.nowMs()),
    }),
    live: (post) => void live.push(post),
    meter: meterOf(cpuPercent),
    wake: clockWakeTimer(clock),
    clock,
    prng: createPrng("worker"),
    logger: silentLogger,
  });
  let end: WorkerEnd | undefined;
  const running = worker.run().then((said) => {
    end = said;
  });
  const opsOf = (
    phase: RunPhase,
    snapshot: WorkerSnapshot | undefined = control.snapshots.at(-1),
  ) => figuresOf((snapshot?.series ?? []).filter((series) => series.phase === phase)).ops;
  return {
    clock,
    control,
    target,
    worker,
    live,
    executed,
    finishedRecords,
    running,
    opsOf,
    end: () => end,
  };
}

const start: ControlEvent = { type: "START", to: { scope: "RUN" }, expectedWorkers: 2 };
const stop = (seconds = 120): ControlEvent => ({
  type: "STOP",
  to: { scope: "RUN" },
  reason: "user_requested",
  initiatedBy: "api",
  drainMs: seconds * 1000,
  atMs: null,
});
const phase = (name: RunPhase, atMs: number | null = null): ControlEvent => ({
  type: "SET_PHASE",
  to: { scope: "RUN" },
  phase: name,
  atMs,
});
const targetOf = (connections: number): WorkerTarget => ({
  connections,
  qps: null,
  stepId: null,
  stepNumber: null,
});
const target = (
  connections: number,
  more: { readonly rampSeconds?: number; readonly atMs?: number } = {},
  step: Partial<WorkerTarget> = {},
  workerId = testWorker("worker-1"),
): ControlEvent => ({
  type: "SET_WORKER_TARGET",
  to: { scope: "WORKER", workerId },
  target: { ...targetOf(connections), ...step },
  atMs: null,
  rampSeconds: 0,
  reason: "test",
  ...more,
});
const measuring = { phase: "MEASUREMENT", warmupStartTimeMs: 1_004_000 } as const;

test("[LW1] a worker registers, connects, says READY, begins nothing before START, and then at once", async () => {
  const { clock, control, target: queue, opsOf } = launch();
  await clock.advance(20_000);
  assert.deepEqual([...new Set(control.beats.map(({ status }) => status))], ["STARTING", "READY"]);
  assert.deepEqual([queue.connected, queue.begun.length], [2, 0]);
  control.emit(start);
  control.emit(phase("WARMUP"));
  await clock.advance(1_000);
  assert.ok(queue.begun.length > 0, "it has begun");
  assert.equal(control.beats.at(-1)?.status, "RUNNING");
  assert.equal(control.beats.at(-1)?.phase, "WARMUP");
  await clock.advance(5_000);
  assert.ok(opsOf("WARMUP") > 80);
});

test("[LW1] without warm-up, what comes with START counts before the first operation", async () => {
  const { clock, control, opsOf } = launch({ workload: { warmupSeconds: 0 } });
  control.emit(start);
  control.emit(phase("MEASUREMENT"));
  await clock.advance(10_000);
  assert.deepEqual([opsOf("WARMUP"), opsOf("MEASUREMENT") > 100], [0, true]);
});

test("[LW2] who joins a run that is in MEASUREMENT begins there, without START", async () => {
  const { clock, control, opsOf } = launch({ row: measuring });
  // What was said before it came.
  control.emit(start);
  control.emit(phase("WARMUP"));
  control.emit(phase("MEASUREMENT"));
  await clock.advance(5_000);
  assert.deepEqual([opsOf("WARMUP"), opsOf("MEASUREMENT") > 50], [0, true]);
});

test("[LW3] a phase begins at effective_at by the store's clock, to the millisecond", async () => {
  const { clock, control, target: queue, executed, opsOf } = launch({ serviceMs: 7 });
  control.emit(start);
  control.emit(phase("WARMUP"));
  await clock.advance(3_000);
  const atMs = clock.nowMs() + 2_345;
  control.emit(phase("MEASUREMENT", control.nowMs + 2_345));
  await clock.advance(5_000);
  control.emit(stop());
  await clock.advance(5_000);
  const before = queue.begun.filter((ms) => ms < atMs).length;
  const after = queue.begun.filter((ms) => ms > atMs).length;
  assert.ok(before > 500 && after > 500);
  const last = control.finished[0]?.snapshot;
  assert.deepEqual([opsOf("WARMUP", last), opsOf("MEASUREMENT", last)], [before, after]);
  assert.ok(executed.every((each) => (each.phase === "WARMUP") === each.startMs < atMs));
});

test("[LW19] what begins after the planned end of MEASUREMENT is in no figure and no record, though STOP comes late", async () => {
  const {
    clock,
    control,
    executed,
    target: queue,
    opsOf,
  } = launch({
    serviceMs: 7,
    workload: { durationSeconds: 10 },
  });
  control.emit(start);
  control.emit(phase("WARMUP"));
  await clock.advance(3_000);
  const fromMs = clock.nowMs() + 1_500;
  control.emit(phase("MEASUREMENT", control.nowMs + 1_500));
  await clock.advance(1_500 + 10_000 + 900);
  control.emit(stop());
  await clock.advance(5_000);
  const last = control.finished[0]?.snapshot;
  const within = queue.begun.filter((ms) => ms >= fromMs && ms < fromMs + 10_000).length;
  assert.ok(
    queue.begun.some((ms) => ms >= fromMs + 10_000),
    "the load goes on until it is told",
  );
  assert.equal(opsOf("MEASUREMENT", last), within);
  assert.equal(executed.filter((each) => each.phase !== "WARMUP").length, within);
});

test("[LW19] who joins later ends with the others", async () => {
  const warmupEndTimeMs = 1_000_000;
  const { clock, control, opsOf } = launch({
    row: { ...measuring, warmupEndTimeMs },
    workload: { durationSeconds: 10 },
  });
  const leftMs = warmupEndTimeMs + 10_000 - control.nowMs;
  assert.ok(leftMs > 1_000 && leftMs < 9_000, `${leftMs} ms`);
  await clock.advance(leftMs);
  const then = opsOf("MEASUREMENT");
  await clock.advance(1_000);
  const ended = opsOf("MEASUREMENT");
  assert.ok(then > 0);
  await clock.advance(3_000);
  assert.equal(opsOf("MEASUREMENT"), ended);
});

test("[LW4] a SET_PHASE that never came is made up for from the run's row, within five seconds", async () => {
  const { clock, control, opsOf } = launch();
  control.emit(start);
  control.emit(phase("WARMUP"));
  control.change({ phase: "WARMUP" });
  await clock.advance(8_000);
  assert.equal(opsOf("MEASUREMENT"), 0);
  control.change({ phase: "MEASUREMENT" });
  await clock.advance(7_000);
  assert.ok(opsOf("MEASUREMENT") > 0);
  control.change({ phase: "WARMUP" }); // Phases never go back.
  await clock.advance(7_000);
  assert.equal(control.beats.at(-1)?.phase, "MEASUREMENT");
});

test("[LW4] a row that is ahead of a phase which waits for its moment does not hurry it", async () => {
  const { clock, control, opsOf } = launch({ row: { phase: "WARMUP" } });
  await clock.advance(2_000);
  control.emit(phase("MEASUREMENT", control.nowMs + 20_000));
  control.change({ phase: "MEASUREMENT" });
  await clock.advance(19_000);
  assert.equal(opsOf("MEASUREMENT"), 0);
  await clock.advance(3_000);
  assert.ok(opsOf("MEASUREMENT") > 0);
});

test("[LW4] START and STOP that never came are made up for as well", async () => {
  const { clock, control, target: queue, end } = launch();
  await clock.advance(3_000);
  control.change({ phase: "WARMUP" });
  await clock.advance(6_000);
  assert.ok(queue.begun.length > 0);
  control.change({ status: "STOPPING" });
  await clock.advance(7_000);
  assert.deepEqual([end()?.kind, end()?.status], ["stopped", "COMPLETED"]);
});

test("[LW7] whose last figures could not be stored has not completed", async () => {
  const { clock, control, end } = launch({ row: measuring, serviceMs: 3_000 });
  await clock.advance(5_000);
  control.emit(stop());
  await clock.advance(1_500);
  assert.equal(control.beats.at(-1)?.status, "DRAINING");
  control.isAway = true;
  await clock.advance(80_000);
  assert.deepEqual([end()?.kind, end()?.status], ["store_lost", "FAILED"]);
  assert.equal(control.finished.length, 0);
});

test("[LW5] targets are absolute, of one's own scope, with their ramp, moment and step", async () => {
  const { clock, control } = launch({ row: measuring });
  const active = () => control.beats.at(-1)?.activeConnections;
  await clock.advance(3_000);
  assert.equal(active(), 2, "its share of four, by its group");
  control.emit(target(9, {}, {}, testWorker("worker-0")));
  control.emit(target(6, {}, { stepNumber: 3, stepId: "s" }));
  await clock.advance(2_000);
  assert.equal(active(), 6);
  await clock.advance(1_000);
  assert.equal(control.snapshots.at(-1)?.step, 3);
  assert.ok(control.snapshots.at(-1)?.series.some(({ step }) => step === 3));
  control.emit(target(16, { rampSeconds: 10, atMs: control.nowMs + 2_000 }));
  control.change({
    targets: { "worker-1": targetOf(16) },
  });
  await clock.advance(2_000);
  assert.equal(active(), 6);
  await clock.advance(5_500);
  assert.ok([10, 11, 12].includes(active() ?? 0), `${active()}`);
  await clock.advance(6_000);
  assert.equal(active(), 16);
});

test("[LW5] a later event counts, whichever has the later moment; a missed target is in the row", async () => {
  const { clock, control } = launch({ row: measuring });
  await clock.advance(2_000);
  control.emit(target(8, { atMs: control.nowMs + 5_000 }));
  control.emit(target(3));
  await clock.advance(8_000);
  assert.equal(control.beats.at(-1)?.activeConnections, 3);
  control.change({
    targets: { "worker-1": targetOf(5) },
  });
  await clock.advance(7_000);
  assert.equal(control.beats.at(-1)?.activeConnections, 5);
});

test("[LW6] after STOP nothing begins; what is under way ends, is counted and recorded before the last word", async () => {
  const {
    clock,
    control,
    target: queue,
    end,
    finishedRecords,
    opsOf,
  } = launch({ row: measuring, serviceMs: 700 });
  await clock.advance(3_050);
  control.emit(stop());
  await clock.advance(1_000);
  const begun = queue.begun.length;
  await clock.advance(1_000);
  assert.equal(queue.begun.length, begun);
  const draining = control.beats.filter(({ status }) => status === "DRAINING");
  assert.deepEqual(new Set(draining.map((beat) => beat.phase)), new Set(["COOLDOWN"]));
  assert.deepEqual(end()?.status, "COMPLETED");
  const [last] = control.finished;
  assert.equal(last?.snapshot.phase, "COOLDOWN");
  assert.deepEqual([control.finished.length, last?.status], [1, "COMPLETED"]);
  assert.equal(opsOf("MEASUREMENT", last?.snapshot), begun);
  assert.equal(last?.snapshot.status, "COMPLETED");
  assert.equal(finishedRecords.length, 1);
  assert.equal(clock.pendingCount, 0, "nothing is left behind");
});

test("[LW6] draining ends when its time is over, with what is left as failures", async () => {
  const { clock, control, end, opsOf } = launch({ row: measuring, serviceMs: 20_000 });
  await clock.advance(3_000);
  control.emit(stop(2));
  await clock.advance(2_500);
  assert.equal(end(), undefined);
  await clock.advance(1_000);
  assert.equal(end()?.kind, "stopped");
  const snapshot = control.finished[0]?.snapshot;
  assert.deepEqual(
    [opsOf("MEASUREMENT", snapshot), figuresOf(snapshot?.series ?? []).errors],
    [2, 2],
  );
});

test("[LW6] nothing begins in COOLDOWN; a STOP that comes later may give less time", async () => {
  const { clock, control, target: queue, end } = launch({ row: measuring, serviceMs: 50_000 });
  await clock.advance(3_000);
  control.emit(phase("COOLDOWN"));
  await clock.advance(5_000);
  assert.deepEqual([queue.begun.length, end()], [2, undefined]);
  control.emit(stop(2));
  await clock.advance(3_500);
  assert.deepEqual([queue.begun.length, end()?.status], [2, "COMPLETED"]);
});

test("[LW9] a run that has ended already is not even connected for", async () => {
  const { clock, target: queue, end } = launch({ row: { status: "CANCELLED" } });
  await clock.advance(500);
  assert.deepEqual([end()?.kind, queue.connected], ["run_ended", 0]);
});

test("[LW6] a STOP before START ends it as well", async () => {
  const { clock, control, end } = launch();
  await clock.advance(3_000);
  control.emit(stop());
  await clock.advance(1_500);
  assert.deepEqual([end()?.kind, control.finished[0]?.status], ["stopped", "COMPLETED"]);
});

test("[LW7] a store that is away for 50 s is survived, and the load goes on", async () => {
  const {
    clock,
    control,
    target: queue,
    end,
    live,
  } = launch({ row: measuring, workload: { durationSeconds: 600 } });
  await clock.advance(5_000);
  control.isAway = true;
  const [begun, posted] = [queue.begun.length, live.length];
  await clock.advance(50_000);
  assert.equal(end(), undefined);
  assert.ok(queue.begun.length > begun + 900);
  assert.ok(live.length >= posted + 49, "the coordinator hears of it all the time");
  control.isAway = false;
  await clock.advance(6_000);
  const last = control.snapshots.at(-1);
  assert.ok(
    Math.abs(figuresOf(last?.series ?? []).ops - queue.begun.length) < 50,
    "nothing is lost",
  );
  control.emit(stop());
  await clock.advance(3_000);
  assert.equal(end()?.status, "COMPLETED");
});

test("[LW7] a store that is away for longer than 60 s ends it", async () => {
  const {
    clock,
    control,
    target: queue,
    end,
  } = launch({ row: measuring, workload: { durationSeconds: 600 } });
  await clock.advance(5_000);
  control.isAway = true;
  await clock.advance(58_500);
  assert.equal(end(), undefined);
  await clock.advance(2_500);
  assert.deepEqual([end()?.kind, end()?.status], ["store_lost", "FAILED"]);
  const begun = queue.begun.length;
  await clock.advance(5_000);
  assert.equal(queue.begun.length, begun);
  assert.equal(control.finished.length, 0);
});

test("[LW7] a store that is away from the beginning is waited for", async () => {
  const first = launch();
  first.control.isAway = true;
  await first.clock.advance(30_000);
  first.control.isAway = false;
  await first.clock.advance(6_000);
  assert.equal(first.control.beats.at(-1)?.status, "READY");
  const other = launch();
  other.control.isAway = true;
  await other.clock.advance(70_000);
  assert.deepEqual([other.end()?.kind, other.end()?.status], ["store_lost", "FAILED"]);
});

test("[LW8] no START within 120 s ends it as failed", async () => {
  const { clock, control, end, target: queue } = launch();
  await clock.advance(119_500);
  assert.equal(end(), undefined);
  await clock.advance(1_000);
  assert.deepEqual(
    [end()?.kind, end()?.status, control.finished[0]?.status],
    ["no_start", "FAILED", "FAILED"],
  );
  assert.match(control.beats.at(-1)?.lastError ?? "", /no START/);
  assert.equal(queue.begun.length, 0);
});

test("[LW9] a run that has ended, was deleted, or whose place another has taken, ends it at once", async () => {
  for (const [how, kind, finishes] of [
    [{ status: "FAILED" }, "run_ended", 1],
    ["deleted", "run_gone", 0],
    ["superseded", "superseded", 0],
  ] as const) {
    const { clock, control, end, target: queue } = launch({ row: measuring, serviceMs: 50_000 });
    await clock.advance(5_000);
    if (how === "deleted") control.isDeleted = true;
    else if (how === "superseded") control.incarnation = "i-2";
    else control.change(how);
    await clock.advance(6_000);
    assert.equal(end()?.kind, kind);
    assert.equal(control.finished.length, finishes, kind);
    const [begun, written] = [queue.begun.length, control.snapshots.length + control.beats.length];
    await clock.advance(10_000);
    assert.equal(queue.begun.length, begun);
    assert.equal(control.snapshots.length + control.beats.length, written);
  }
});

test("[LW9] one whose place another has taken while it stops has failed: nobody has its last figures", async () => {
  const { clock, control, end } = launch({ row: measuring, serviceMs: 50_000 });
  await clock.advance(5_000);
  control.emit(stop());
  control.incarnation = "i-2";
  await clock.advance(2_000);
  assert.deepEqual([end()?.kind, end()?.status], ["superseded", "FAILED"]);
  assert.equal(control.finished.length, 0);
});

test("[LW10] a coordinator's lease that has lapsed for 60 s ends it", async () => {
  const { clock, control, end } = launch({ row: measuring, workload: { durationSeconds: 600 } });
  await clock.advance(5_000);
  control.change({ leaseLapsedMs: 59_000 });
  await clock.advance(10_000);
  assert.equal(end(), undefined);
  control.change({ leaseLapsedMs: 61_000 });
  await clock.advance(7_000);
  assert.deepEqual([end()?.kind, control.finished[0]?.status], ["lease_lapsed", "FAILED"]);
});

test("[LW10] the planned end and the drain are the last it does, whatever the store says", async () => {
  const { clock, control, end } = launch({
    workload: { warmupSeconds: 10, durationSeconds: 30 },
  });
  control.emit(start);
  await clock.advance(1_000);
  await clock.advance(158_000);
  assert.equal(end(), undefined);
  await clock.advance(3_000);
  assert.deepEqual([end()?.kind, end()?.status], ["deadline", "FAILED"]);
});

test("[LW11] a signal drains it, for five seconds at most, also while it drains already", async () => {
  const quick = launch({ row: measuring });
  await quick.clock.advance(3_000);
  quick.worker.terminate();
  await quick.clock.advance(300);
  assert.deepEqual(
    [quick.end()?.kind, quick.control.finished[0]?.status],
    ["terminated", "FAILED"],
  );
  const slow = launch({ row: measuring, serviceMs: 100_000 });
  await slow.clock.advance(3_000);
  slow.control.emit(stop(120));
  await slow.clock.advance(10_000);
  assert.equal(slow.end(), undefined);
  slow.worker.terminate();
  await slow.clock.advance(4_900);
  assert.equal(slow.end(), undefined);
  await slow.clock.advance(200);
  assert.deepEqual([slow.end()?.kind, slow.control.finished[0]?.status], ["stopped", "COMPLETED"]);
});

test("[LW12] snapshots come once a second, cumulative, with growing sequence, to the store and to the coordinator", async () => {
  const { clock, control, live } = launch({ row: measuring });
  await clock.advance(20_500);
  assert.ok(live.length >= 19 && live.length <= 21, `${live.length}`);
  assert.ok(control.snapshots.length >= 18, `${control.snapshots.length}`);
  let before = { sequence: 0, ops: 0 };
  for (const snapshot of control.snapshots) {
    const { ops } = figuresOf(snapshot.series);
    assert.ok(snapshot.sequence > before.sequence && ops >= before.ops);
    before = { sequence: snapshot.sequence, ops };
  }
  const last = live.at(-1);
  assert.deepEqual(
    [last?.test_id, last?.worker_group_id, last?.worker_group_count, last?.phase, last?.status],
    ["test", 1, 2, "MEASUREMENT", "RUNNING"],
  );
  assert.equal(last?.metrics.qps, 20);
  const gaps = control.beats
    .slice(2)
    .map(({ atMs }, at) => atMs - (control.beats[at + 1]?.atMs ?? 0));
  assert.ok(
    gaps.every((ms) => ms <= 1_000),
    `${gaps}`,
  );
});

test("[LW13] a target that refuses is asked again for a while; SQL that it refuses is said at once", async () => {
  const slow = launch();
  slow.target.refuse("too many connections");
  await slow.clock.advance(10_000);
  assert.equal(slow.end(), undefined);
  slow.target.refuse(undefined);
  await slow.clock.advance(3_000);
  assert.equal(slow.control.beats.at(-1)?.status, "READY");
  const never = launch();
  never.target.refuse("too many connections");
  await never.clock.advance(40_000);
  assert.deepEqual(
    [never.end()?.kind, never.control.finished[0]?.status],
    ["target_failed", "FAILED"],
  );
  const wrong = launch();
  wrong.target.sqlError = new OperatingError("bad_sql", "never", "no such table");
  await wrong.clock.advance(2_000);
  assert.deepEqual([wrong.end()?.kind, wrong.end()?.message], ["target_failed", "no such table"]);
  assert.match(wrong.control.beats.at(-1)?.lastError ?? "", /no such table/);
});

test("[LW14] what a worker says is in the run's log, once, and trouble that repeats is not", async () => {
  const { clock, control, target: queue } = launch({ row: measuring });
  await clock.advance(3_000);
  control.isAway = true;
  await clock.advance(3_000);
  queue.refuse("gone");
  queue.breakAll();
  await clock.advance(3_000);
  control.isAway = false;
  await clock.advance(9_000);
  const messages = control.logs.map(({ message }) => message);
  assert.ok(messages.includes("started in MEASUREMENT"));
  assert.ok(messages.filter((message) => message === "gone").length <= 2, messages.join());
  assert.equal(new Set(control.logs.map(({ logId }) => logId)).size, control.logs.length);
});

test("[LW15] a generator that is the bottleneck says so in the run's log, once in a while", async () => {
  const { clock, control } = launch({ row: measuring, cpuPercent: 99 });
  await clock.advance(15_000);
  const said = control.logs.filter(({ message }) => message.includes("99 % busy"));
  assert.deepEqual([said.length, said[0]?.level], [2, "WARNING"]);
});

test("[GE9] [LW6] a run that is cancelled counts every arrival that was due until its stop, also of a target that hangs", async () => {
  const {
    clock,
    control,
    target: queue,
  } = launch({
    row: measuring,
    workload: { loadMode: "QPS", targetQps: 20, concurrentConnections: 4, durationSeconds: 60 },
    serviceMs: 1_000_000,
  });
  await clock.advance(4_050);
  const live = figuresOf(control.snapshots.at(-1)?.series ?? []);
  assert.ok(live.unserved > 5, `${live.unserved} wait for more than a second, and are told of`);
  control.emit(stop(1));
  await clock.advance(2_500);
  const { snapshot, status } = control.finished[0] ?? {};
  assert.equal(status, "COMPLETED");
  const { ops, errors, unserved, censored } = figuresOf(
    snapshot?.series.filter(({ phase: own }) => own === "MEASUREMENT") ?? [],
  );
  assert.equal(ops, queue.begun.length, "what was sent has failed");
  assert.equal(errors, ops);
  const stoppedMs = (snapshot?.answering.measured_ms ?? 0) / 1000;
  // One of two workers: half of the rate, from the moment that MEASUREMENT began.
  assert.ok(Math.abs(ops + unserved - stoppedMs * 10) <= 2, `${ops} + ${unserved}, ${stoppedMs} s`);
  assert.ok(unserved > 20 && (censored.maxUs ?? 0) > 2_000_000, `${unserved}`);
});
