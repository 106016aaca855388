/**
 * One time axis: what workers record, what the target saw by its own clock, and what was planned.
 * The machine is busy: every timer of a worker is late, and so is every answer of the store, the
 * first one by far.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { createPrng, type Prng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { isTerminal } from "../core/run-state.ts";
import type { Scenario } from "../core/scenario.ts";
import type { WorkerControl } from "../core/worker-control.ts";
import type { Executed } from "../generator/load-generator.ts";
import { QueueTarget } from "../testing/queue-target.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { openRealOrchestrator } from "./testing/real-orchestrator.ts";

const timerLateMsMax = 120;
const firstAnswerMs = 1_000;

/** A clock of a busy machine: right, but what waits for it is woken late. */
function lateClock(clock: Clock, prng: Prng): Clock {
  return {
    nowMs: () => clock.nowMs(),
    wallMs: () => clock.wallMs(),
    after: (delayMs, fire) => clock.after(delayMs + prng.next() * timerLateMsMax, fire),
  };
}

/**
 * The way to the store takes a while, and starting it a second, of which the way back has nothing.
 */
function slowControl(
  control: WorkerControl,
  clock: Clock,
  prng: Prng,
  eventsLateMs: number,
): WorkerControl {
  const way = () => sleep(clock, 1 + prng.next() * 30);
  return {
    async register(worker) {
      await sleep(clock, firstAnswerMs);
      return await control.register(worker);
    },
    async read(runId) {
      await way();
      const view = await control.read(runId);
      await way();
      return view;
    },
    async events(runId, after) {
      const events = await control.events(runId, after);
      await sleep(clock, eventsLateMs);
      return events;
    },
    beat: (worker, beat) => control.beat(worker, beat),
    writeSnapshot: (worker, snapshot) => control.writeSnapshot(worker, snapshot),
    finish: (worker, snapshot, status) => control.finish(worker, snapshot, status),
    log: (runId, lines) => control.log(runId, lines),
  };
}

/** Says when operations came, by its own clock. */
class LoggingQueue extends QueueTarget {
  readonly cameMs: number[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    super({ clock, servers: 1_000, serviceMs: 5 });
    this.#clock = clock;
  }

  override admit(atMs: number): number {
    this.cameMs.push(this.#clock.wallMs());
    return super.admit(atMs);
  }
}

interface Recorded extends Executed {
  /** By the store's clock. */
  readonly dueAtMs: number;
  readonly startAtMs: number;
}

interface Stop {
  /** After the start. */
  readonly afterMs: number;
  /** How long answers about events take: STOP is heard so much later. */
  readonly eventsLateMs: number;
}

async function runIt(scenario: Scenario, stop?: Stop) {
  const settle = () => new Promise<void>((resolve) => process.nextTick(resolve));
  const clock = new VirtualClock({ settle });
  const prng = createPrng("time-axis");
  const target = new LoggingQueue(clock);
  const recorded: Recorded[] = [];
  const { orchestrator, store } = await openRealOrchestrator({
    clock,
    prng,
    target,
    throughControl: (control) =>
      slowControl(control, clock, prng.fork("ways"), stop?.eventsLateMs ?? 0),
    workers: {
      clock: lateClock(clock, prng.fork("timers")),
      onExecuted: (executed, originMs) =>
        recorded.push({
          ...executed,
          dueAtMs: executed.intendedMs + originMs,
          startAtMs: executed.startMs + originMs,
        }),
    },
  });
  const runId = await orchestrator.prepareRun({ scenario, testName: "axis", password: null });
  await orchestrator.startRun(runId);
  if (stop !== undefined) {
    await clock.advance(stop.afterMs);
    const stopping = orchestrator.stopRun(runId, "test");
    await clock.advance(1);
    await stopping;
  }
  for (let second = 0; second < 200; second += 1) {
    await clock.advance(1_000);
    const look = await orchestrator.runs.look(runId);
    if (look !== undefined && isTerminal(look.run.status)) break;
  }
  const look = await orchestrator.runs.look(runId);
  const row = await store.read(({ db }) =>
    db
      .selectFrom("test_results")
      .select(["status", "total_operations", "unserved", "qps", "figures"])
      .where("test_id", "=", runId)
      .executeTakeFirstOrThrow(),
  );
  await orchestrator.close();
  assert.equal(row.status, stop === undefined ? "COMPLETED" : "CANCELLED");
  const { warmupEndTimeMs, stopTimeMs } = look?.run ?? {};
  return { recorded, target, row, beginMs: warmupEndTimeMs ?? 0, stopMs: stopTimeMs ?? 0 };
}

const stages = [
  { durationSeconds: 4, target: 200 },
  { durationSeconds: 3, target: 200 },
  { durationSeconds: 5, target: 20 },
];
/** Of the rates, by hand: 60 to 200, 200, 200 to 20. */
const integrals = [520, 600, 550];

for (const warmup of [0, 1, 2, 3]) {
  for (const workers of [1, 3]) {
    test(`[LW3] [GE3] [PN1] [LW19] [DN5] ${workers} workers, ${warmup} s of warm-up: records lie on the target's clock, phases end on time, stages give the integral of their rates`, async () => {
      const { recorded, target, row, beginMs } = await runIt(
        scenarioOf({
          workload: {
            loadMode: "QPS",
            targetQps: 60,
            concurrentConnections: 60,
            warmupSeconds: warmup,
            durationSeconds: 12,
            stages,
          },
          scaling: { workerCount: workers },
        }),
      );
      // Every record is where the target saw the operation, within what the pings could tell.
      const seen = target.cameMs.toSorted((left, right) => left - right);
      const told = recorded.map((each) => each.startAtMs).sort((left, right) => left - right);
      const worst = told.map((ms, index) => Math.abs(ms - (seen[index] ?? 0)));
      assert.ok(Math.max(...worst) <= 20, `a record is ${Math.max(...worst)} ms off`);
      const measured = recorded.filter(({ phase }) => phase === "MEASUREMENT");
      for (const { dueAtMs } of measured) {
        assert.ok(dueAtMs >= beginMs - 20 && dueAtMs <= beginMs + 12_020, `${dueAtMs - beginMs}`);
      }
      let fromMs = beginMs;
      for (const [index, { durationSeconds: seconds }] of stages.entries()) {
        const toMs = fromMs + seconds * 1000;
        const count = measured.filter((each) => each.dueAtMs > fromMs && each.dueAtMs <= toMs);
        const integral = integrals[index] ?? 0;
        const allowed = workers + 200 * 0.02; // The clocks' own error at the edges.
        assert.ok(Math.abs(count.length - integral) <= allowed, `${count.length} for ${integral}`);
        fromMs = toMs;
      }
      const whole = integrals.reduce((sum, each) => sum + each, 0);
      assert.ok(Math.abs(row.total_operations - whole) <= workers + 1, `${row.total_operations}`);
      assert.ok(Math.abs((row.qps ?? 0) * 12 - row.total_operations) < 1e-6);
    });
  }
}

for (const mode of ["QPS", "CONCURRENCY"] as const) {
  for (const [workers, warmup, afterMs, eventsLateMs] of [
    [1, 0, 9_300, 0],
    [1, 0, 9_300, 2_500],
    [3, 0, 9_300, 1_400],
    [2, 3, 11_700, 900],
  ] as const) {
    test(`[LW20] [FF1] ${mode}, ${workers} workers, ${warmup} s of warm-up, answers ${eventsLateMs} ms late: a run that is stopped early counts what the target saw until its stop, by that length`, async () => {
      const { recorded, target, row, beginMs, stopMs } = await runIt(
        scenarioOf({
          workload: {
            loadMode: mode,
            targetQps: mode === "QPS" ? 100 : null,
            concurrentConnections: 12,
            warmupSeconds: warmup,
            durationSeconds: 60,
          },
          scaling: { workerCount: workers },
        }),
        { afterMs, eventsLateMs },
      );
      const seconds = (stopMs - beginMs) / 1000;
      assert.ok(seconds > 1 && seconds < 10, `${seconds} s`);
      const within = target.cameMs.filter((ms) => ms >= beginMs && ms < stopMs).length;
      const isHeardLate = target.cameMs.some((ms) => ms >= stopMs + 500);
      assert.ok(isHeardLate || eventsLateMs === 0, "workers hear of it later");
      // The clocks' own error at both edges, and arrivals that a late timer begins after the stop.
      const allowed = workers + within * 0.05;
      assert.ok(
        Math.abs(row.total_operations - within) <= allowed,
        `${row.total_operations} of ${within}`,
      );
      assert.ok(Math.abs((row.qps ?? 0) * seconds - row.total_operations) < 1e-6, `${row.qps}`);
      const measured = recorded.filter(({ phase }) => phase === "MEASUREMENT");
      assert.equal(measured.length, row.total_operations);
      const { final } = JSON.parse(row.figures);
      assert.equal(final.measured_seconds, seconds);
      const dueUntilStop = row.total_operations + (row.unserved ?? 0);
      if (mode === "QPS") {
        assert.ok(Math.abs(dueUntilStop - seconds * 100) <= workers + 2, `${dueUntilStop}`);
      }
    });
  }
}

test("[LW20] [FF1] a run that is stopped in WARMUP has measured nothing: no operations, no rate", async () => {
  for (const eventsLateMs of [0, 1_500]) {
    const workload = { concurrentConnections: 4, warmupSeconds: 8, durationSeconds: 60 };
    // The second time workers hear of it when MEASUREMENT would have begun.
    const afterMs = eventsLateMs === 0 ? 7_000 : 10_600;
    const { row, beginMs, stopMs, target } = await runIt(scenarioOf({ workload }), {
      afterMs,
      eventsLateMs,
    });
    assert.ok(
      target.cameMs.some((ms) => ms < stopMs),
      "it was loaded",
    );
    assert.deepEqual([beginMs, row.total_operations, row.unserved, row.qps], [0, 0, 0, null]);
  }
});
