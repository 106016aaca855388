import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { clockWakeTimer, type WakeTimer } from "../../../ground/kernel/wake-timer.ts";
import { availabilityOf } from "../core/availability.ts";
import { figuresOf } from "../core/figures.ts";
import { Histogram } from "../core/histogram.ts";
import { measuredOf } from "../core/latency.ts";
import { SeriesBook } from "../core/series-book.ts";
import type { Workload } from "../core/workload.ts";
import { oneOperation } from "../testing/one-operation.ts";
import { QueueTarget, type QueueTargetOptions } from "../testing/queue-target.ts";
import { LoadGenerator, type LoadGeneratorOptions } from "./load-generator.ts";

function start(queue: Omit<QueueTargetOptions, "clock">, options: Partial<LoadGeneratorOptions>) {
  const clock = new VirtualClock();
  const target = new QueueTarget({ clock, ...queue });
  const workload = oneOperation();
  const book = new SeriesBook(
    workload.operations.map(({ operation }) => operation),
    "MEASUREMENT",
  );
  const generator = new LoadGenerator({
    target,
    workload,
    book,
    clock,
    wake: clockWakeTimer(clock),
    prng: createPrng("generator"),
    loop: "open",
    arrivals: "uniform",
    turn: { index: 0, count: 1 },
    depth: 1,
    thinkTimeMs: 0,
    operationTimeoutMs: 60_000,
    ...options,
  });
  return { clock, target, book, generator, figures: () => figuresOf(book.snapshot()) };
}

async function drain(clock: VirtualClock, generator: LoadGenerator): Promise<void> {
  const drained = generator.drain(10_000);
  await clock.advance(10_000);
  await drained;
}

for (const arrivals of ["uniform", "poisson"] as const) {
  test(`[GE1] [GE2] ${arrivals} arrivals at a queue that stalls: the percentiles are those of its recursion`, async () => {
    const queue = {
      servers: 4,
      serviceMs: 5,
      stall: { fromMs: 30_000, everyMs: 60_000, lengthMs: 2_000 },
    };
    const { clock, generator, figures } = start(queue, { arrivals });
    const ended: { intendedMs: number; endMs: number }[] = [];
    generator.setTarget({ connections: 64, qps: 500, rampMs: 0 });
    await clock.advance(180_000);
    await drain(clock, generator);
    assert.deepEqual([generator.dropped, generator.unsent], [0, 0]);
    const { response, errors } = figures();
    assert.equal(errors, 0);
    // The same schedule, computed apart: each arrival joins the queue when it is due.
    const alone = start(queue, { arrivals, onExecuted: (done) => ended.push(done) });
    alone.generator.setTarget({ connections: 64, qps: 500, rampMs: 0 });
    await alone.clock.advance(180_000);
    await drain(alone.clock, alone.generator);
    const reference = new QueueTarget({ clock: new VirtualClock(), ...queue });
    const exact = ended
      .map(({ intendedMs }) => intendedMs)
      .sort((a, b) => a - b)
      .map((dueMs) => reference.admit(dueMs) - dueMs)
      .sort((a, b) => a - b);
    assert.equal(exact.length, response.count);
    for (const share of [0.5, 0.9, 0.95, 0.99, 0.999]) {
      const expected = exact[Math.ceil(share * exact.length) - 1] ?? 0;
      const found = (response.percentileUs(share) ?? 0) / 1000;
      assert.ok(Math.abs(found / expected - 1) < 0.02, `p${share * 100}: ${found} for ${expected}`);
    }
  });
}

test("[GE7] the same seed gives the same operations at the same moments, whatever the target does", async () => {
  const mixed: Workload = {
    operations: oneOperation().operations.flatMap((each) => [each, each, each]),
    choose: () => 0,
  };
  const sent = async (queue: Omit<QueueTargetOptions, "clock">, seed = "generator") => {
    const chances = createPrng(`${seed} operations`);
    const done: { operation: number; intendedMs: number }[] = [];
    const { clock, generator } = start(queue, {
      arrivals: "poisson",
      prng: createPrng(seed),
      workload: { ...mixed, choose: () => chances.below(3) },
      book: new SeriesBook(
        mixed.operations.map(({ operation }) => operation),
        "MEASUREMENT",
      ),
      onExecuted: (executed) => done.push(executed),
    });
    generator.setTarget({ connections: 8, qps: 100, rampMs: 0 });
    await clock.advance(10_000);
    await drain(clock, generator);
    return done
      .toSorted((one, other) => one.intendedMs - other.intendedMs)
      .map(({ operation, intendedMs }) => [operation, intendedMs]);
  };
  const quick = await sent({ servers: 8, serviceMs: 1 });
  assert.ok(quick.length > 500, `${quick.length}`);
  // It catches up before the end.
  const stall = { fromMs: 2_000, everyMs: 60_000, lengthMs: 3_000 };
  assert.deepEqual(await sent({ servers: 2, serviceMs: 5, stall }), quick);
  assert.notDeepEqual(await sent({ servers: 8, serviceMs: 1 }, "another"), quick);
});

test("[GE2] beyond the waiting line's length arrivals are dropped, and counted", async () => {
  const { clock, generator } = start({ servers: 1, serviceMs: 1_000 }, { waitingMax: 5 });
  generator.setTarget({ connections: 1, qps: 10, rampMs: 0 });
  await clock.advance(2_050);
  assert.equal(generator.waiting, 5);
  assert.ok(generator.dropped >= 12, `${generator.dropped}`);
  await drain(clock, generator);
  assert.equal(generator.unsent, 5);
});

/** A thread that sleeps: what is due in that time is seen to at its end. */
function sleepyWake(clock: VirtualClock, from: number, until: number): WakeTimer {
  const wake = clockWakeTimer(clock);
  return {
    set: (atMs, run) => wake.set(atMs >= from && atMs < until ? until : atMs, run),
    clear: () => wake.clear(),
    close: () => wake.close(),
  };
}

const latenesses = [
  { name: "few connections", connections: 6, sleptMs: 60, serviceMs: 5, lateMsMin: 25 },
  { name: "many connections", connections: 64, sleptMs: 60, serviceMs: 1, lateMsMin: 25 },
  { name: "a slow target", connections: 4, sleptMs: 0, serviceMs: 100, lateMsMin: 0 },
];
for (const { name, connections, sleptMs, serviceMs, lateMsMin } of latenesses) {
  test(`[LW15] every arrival that the generator slept through was late by it, whoever then had a connection: ${name}`, async () => {
    const clock = new VirtualClock();
    const wake = sleepyWake(clock, 1_000, 1_000 + sleptMs);
    // A thread that sleeps takes no answers either.
    const stall = { fromMs: 1_000, everyMs: 60_000, lengthMs: sleptMs };
    const queue = { servers: 4, serviceMs, ...(sleptMs > 0 && { stall }) };
    const target = new QueueTarget({ clock, ...queue });
    const { generator } = start(queue, { clock, wake, target });
    generator.setTarget({ connections, qps: 500, rampMs: 0 });
    await clock.advance(1_000);
    generator.takeLag();
    await clock.advance(600);
    const lateMs = (generator.takeLag().percentileUs(0.95) ?? 0) / 1000;
    assert.ok(lateMsMin === 0 ? lateMs < 0.1 : lateMs > lateMsMin, `${lateMs} ms`);
    await drain(clock, generator);
  });
}

test("a closed loop keeps every connection busy, thinks between, and grows by the ramp", async () => {
  const { clock, generator, figures } = start(
    { servers: 100, serviceMs: 10 },
    { loop: "closed", thinkTimeMs: 10 },
  );
  generator.setTarget({ connections: 10, qps: 0, rampMs: 1_000 });
  await clock.advance(500);
  assert.equal(generator.activeConnections, 5);
  await clock.advance(600);
  assert.equal(generator.activeConnections, 10);
  const before = figures().ops;
  await clock.advance(1_000);
  assert.ok(Math.abs(figures().ops - before - 500) <= 10, `${figures().ops - before} of 500`);
  generator.setTarget({ connections: 3, qps: 0, rampMs: 0 });
  await clock.advance(50);
  assert.equal(generator.activeConnections, 3);
  generator.setTarget({ connections: 6, qps: 0, rampMs: 0 });
  await clock.advance(50);
  assert.equal(generator.activeConnections, 6);
  await drain(clock, generator);
  assert.equal(generator.activeConnections, 0);
});

test("[GE4] broken connections fail what they had, once, and are opened again", async () => {
  const { clock, target, generator, figures } = start(
    { servers: 8, serviceMs: 100 },
    { loop: "closed" },
  );
  generator.setTarget({ connections: 8, qps: 0, rampMs: 0 });
  await clock.advance(50);
  target.breakAll();
  assert.deepEqual(figures().errorsByKind, { connection: 8 });
  await clock.advance(1_000);
  assert.equal(generator.activeConnections, 8);
  assert.ok(figures().ops > 8 + 60);
  target.refuse("too many connections");
  target.breakAll();
  await clock.advance(60_000);
  assert.equal(generator.activeConnections, 0);
  assert.ok(figures().errors > 8 * 10, "attempts show as errors");
  target.refuse(undefined);
  await clock.advance(10_000);
  assert.equal(generator.activeConnections, 8);
  await generator.close();
});

test("[GE5] what takes too long fails as a timeout, and its connection is replaced", async () => {
  const { clock, target, generator, figures } = start(
    { servers: 1, serviceMs: 10_000 },
    { loop: "closed", operationTimeoutMs: 1_000 },
  );
  generator.setTarget({ connections: 2, qps: 0, rampMs: 0 });
  await clock.advance(1_100);
  assert.deepEqual(figures().errorsByKind, { timeout: 2 });
  assert.equal(target.connected, 4);
  assert.equal(generator.activeConnections, 2);
  await generator.close();
});

test("[GE3] what was due in the warm-up counts there, whenever it ends", async () => {
  const { clock, book, generator } = start({ servers: 1, serviceMs: 100 }, {});
  book.enter("WARMUP", 0);
  generator.setTarget({ connections: 50, qps: 20, rampMs: 0 });
  await clock.advance(1_010);
  book.enter("MEASUREMENT", 0);
  await clock.advance(1_000);
  await drain(clock, generator);
  const ops = new Map(book.snapshot().map(({ phase, ops: count }) => [phase, count]));
  assert.deepEqual([ops.get("WARMUP"), ops.get("MEASUREMENT")], [20, 20]);
});

for (const loop of ["closed", "open"] as const) {
  test(`[GE3] a ${loop} loop changes its phase at the moment that was announced, and back to none`, async () => {
    const begun: { readonly phase: string; readonly intendedMs: number }[] = [];
    const { clock, book, generator } = start(
      { servers: 10, serviceMs: 30 },
      { loop, onExecuted: (each) => begun.push(each) },
    );
    book.enter("WARMUP", 0);
    generator.setTarget({ connections: 10, qps: 100, rampMs: 0 });
    const atMs = clock.nowMs() + 1_000;
    book.cut("MEASUREMENT", atMs);
    book.cut("COOLDOWN", atMs + 500);
    await clock.advance(2_000);
    await drain(clock, generator);
    for (const { phase, intendedMs } of begun) {
      const due =
        intendedMs < atMs ? "WARMUP" : intendedMs < atMs + 500 ? "MEASUREMENT" : "COOLDOWN";
      assert.equal(phase, due, `${intendedMs}`);
    }
    assert.deepEqual(new Set(begun.map(({ phase }) => phase)).size, 3);
  });
}

test("[GE6] draining begins nothing and ends when all has ended, or when it may not go on", async () => {
  const { clock, generator, figures } = start({ servers: 1, serviceMs: 500 }, { loop: "closed" });
  generator.setTarget({ connections: 3, qps: 0, rampMs: 0 });
  await clock.advance(10);
  const drained = generator.drain(1_200);
  await clock.advance(1_100);
  assert.equal(generator.inFlight, 1);
  await clock.advance(200);
  await drained;
  assert.deepEqual([generator.inFlight, figures().ops, figures().errors], [0, 3, 1]);
});

for (const loop of ["closed", "open"] as const) {
  test(`[GE8] a ${loop} loop begins nothing before it has a target, and all at once then`, async () => {
    const { clock, target, generator, figures } = start({ servers: 8, serviceMs: 10 }, { loop });
    await generator.warmUp(8, new AbortController().signal);
    await clock.advance(1_000);
    assert.deepEqual([target.connected, figures().ops, generator.inFlight], [8, 0, 0]);
    generator.setTarget({ connections: 8, qps: 100, rampMs: 0 });
    await clock.advance(100);
    assert.equal(target.connected, 8);
    assert.ok(figures().ops >= 8, `${figures().ops}`);
    await drain(clock, generator);
  });
}

test("[GE4] every operation that is counted is told of, those without a connection too", async () => {
  for (const loop of ["closed", "open"] as const) {
    const told: number[] = [];
    const { clock, target, generator, figures } = start(
      { servers: 8, serviceMs: 10 },
      { loop, operationTimeoutMs: 1_000, onExecuted: () => told.push(1) },
    );
    target.refuse("no");
    generator.setTarget({ connections: 2, qps: 10, rampMs: 0 });
    await clock.advance(5_000);
    assert.ok(figures().errors > 2);
    assert.equal(told.length, figures().ops);
    await generator.close();
  }
});

/** Arrivals of a uniform rate up to a moment, computed apart. */
function dueUntil(qps: number, ms: number): readonly number[] {
  return Array.from({ length: Math.floor((qps * ms) / 1000) }, (_, at) => ((at + 1) * 1000) / qps);
}

test("[GE9] [LT1] a target that hangs: every arrival that was due is answered, failed or unserved, with its wait", async () => {
  const stall = { fromMs: 8_000, everyMs: 1e9, lengthMs: 1e9 };
  const answered: number[] = [];
  const { clock, generator, book, figures } = start(
    { servers: 8, serviceMs: 40, stall },
    {
      operationTimeoutMs: 30_000,
      onExecuted: ({ intendedMs, failure }) => {
        if (failure === undefined) answered.push(intendedMs);
      },
    },
  );
  generator.setTarget({ connections: 8, qps: 100, rampMs: 0 });
  await clock.advance(12_000);
  book.setPending(generator.pending());
  const live = figures();
  assert.ok(live.unserved > 250, `${live.unserved} wait for more than a second`);
  await drain(clock, generator);
  book.setPending(generator.pending());
  const final = figures();
  const due = dueUntil(100, 12_000);
  assert.equal(final.ops + final.unserved, due.length);
  assert.equal(final.ops - final.errors, answered.length);
  // Eight are in flight, and fail when the connections are closed; all others were never sent.
  assert.deepEqual([final.errors, final.errorsByKind], [8, { connection: 8 }]);
  const never = due.slice(answered.length + 8).map((ms) => 12_000 - ms);
  assert.equal(final.unserved, never.length);
  assert.ok(Math.abs(final.censored.sumUs / 1000 - never.reduce((a, b) => a + b, 0)) < 10);
  assert.equal(generator.unsent, final.unserved);
  const { latency } = measuredOf(final);
  assert.ok((latency.p95_latency_ms ?? 0) > 3_000, `${latency.p95_latency_ms}`);
  assert.ok(latency.at_least.includes("p95_latency_ms"));
});

test("[GE9] what does not fit the line is unserved, too, since it was due", async () => {
  const stall = { fromMs: 0, everyMs: 1e9, lengthMs: 1e9 };
  const { clock, generator, figures } = start(
    { servers: 1, serviceMs: 1, stall },
    { waitingMax: 5 },
  );
  generator.setTarget({ connections: 1, qps: 10, rampMs: 0 });
  await clock.advance(4_050);
  await drain(clock, generator);
  const { unserved, censored, errors } = figures();
  assert.deepEqual([unserved, errors], [39, 1]);
  assert.ok((censored.minUs ?? 0) <= 60_000 && (censored.maxUs ?? 0) > 3_800_000);
  assert.ok(Math.abs(censored.sumUs / 1e6 - 39 * 1.95) < 5, `${censored.sumUs}`);
});

test("[GE9] a hard end counts what waited as a drain does, and what nobody came to line up", async () => {
  const stall = { fromMs: 1_000, everyMs: 1e9, lengthMs: 1e9 };
  const { clock, generator, figures } = start({ servers: 4, serviceMs: 10, stall }, {});
  generator.setTarget({ connections: 4, qps: 50, rampMs: 0 });
  await clock.advance(3_000);
  await generator.close();
  const { ops, unserved } = figures();
  assert.equal(ops + unserved, dueUntil(50, 3_000).length);
});

const usual = (medianMs: number) => ({
  medianMs,
  successes: 10_000,
  highMs: new Map<string, number>(),
  isDead: false,
});

test("[GE4] [SI1] a closed loop whose target is away: the first success took as long as the connection waited", async () => {
  const executed: { startMs: number; intendedMs: number; endMs: number; ok: boolean }[] = [];
  const { clock, target, generator, figures } = start(
    { servers: 8, serviceMs: 4 },
    {
      loop: "closed",
      onExecuted: ({ startMs, intendedMs, endMs, failure }) =>
        executed.push({ startMs, intendedMs, endMs, ok: failure === undefined }),
    },
  );
  generator.setTarget({ connections: 8, qps: 0, rampMs: 0 });
  await clock.advance(4_000);
  target.refuse("the database system is shutting down");
  target.breakAll();
  await clock.advance(7_000);
  target.refuse(undefined);
  await clock.advance(3_000);
  const answering = availabilityOf([generator.answering], usual(4));
  assert.ok(Math.abs((answering?.availability_pct ?? 0) - 50) < 9, JSON.stringify(answering));
  const silenceMs = answering?.longest_silence_ms ?? 0;
  assert.ok(silenceMs >= 6_999 && silenceMs < 8_100, `${silenceMs}`);
  const { response, failed, errors } = figures();
  assert.ok((response.maxUs ?? 0) >= 7_000_000 && (response.maxUs ?? 0) < 8_200_000);
  const waited = executed.filter(({ ok, intendedMs, endMs }) => ok && endMs - intendedMs >= 7_000);
  assert.equal(waited.length, 8, "one for each connection");
  assert.ok(
    waited.every(({ startMs, endMs }) => endMs - startMs < 10),
    "sent when it was back",
  );
  assert.ok((response.minUs ?? 0) >= 3_900, "the least latency is of a success");
  assert.equal(failed.count, errors);
  await generator.close();
});

test("[GE4] a connection that fails before anything succeeded on it has been waiting all the time", async () => {
  const { clock, target, generator, figures } = start(
    { servers: 1, serviceMs: 10 },
    { loop: "closed" },
  );
  generator.setTarget({ connections: 1, qps: 0, rampMs: 0 });
  await clock.advance(1_000);
  for (let turn = 0; turn < 40; turn += 1) {
    target.breakAll(); // It connects at once, and is broken before its first answer.
    await clock.advance(5);
  }
  await clock.advance(1_000);
  assert.ok((figures().response.maxUs ?? 0) >= 195_000, `${figures().response.maxUs}`);
  const { failed } = figures();
  assert.ok(failed.count >= 40 && (failed.maxUs ?? 0) < 10_000, `${failed.maxUs} of a failure`);
  await generator.close();
});

test("[AV1] [SI4] a target that is away for a fifth of a second again and again is not available all the time", async () => {
  const { clock, target, generator } = start({ servers: 8, serviceMs: 1 }, { loop: "closed" });
  generator.setTarget({ connections: 4, qps: 0, rampMs: 0 });
  for (let turn = 0; turn < 10; turn += 1) {
    target.refuse(undefined);
    await clock.advance(1_000);
    target.refuse("it is down");
    target.breakAll();
    await clock.advance(200);
  }
  const { availability_pct: percent = 100 } = availabilityOf([generator.answering], usual(1)) ?? {};
  // A retry finds a target that is back up to 0.2 s late.
  assert.ok(percent > 60 && percent <= 84, `${percent}`);
  await generator.close();
});

test("[AV4] [SI5] a closed loop of which 9 of 10 connections hang is not available for their share", async () => {
  let [servedUntilMs, isHanging] = [0, false];
  const { clock, generator, figures } = start(
    {
      servers: 1_000,
      serviceMs: 10,
      jitter: () => {
        const isServed = !isHanging || clock.nowMs() >= servedUntilMs; // One at a time.
        if (isServed) servedUntilMs = clock.nowMs() + 10;
        return isServed ? 1 : 1e6;
      },
    },
    { loop: "closed", operationTimeoutMs: 4_000 },
  );
  generator.setTarget({ connections: 10, qps: 0, rampMs: 0 });
  await clock.advance(3_000);
  const before = availabilityOf([generator.answering], usual(10));
  assert.deepEqual([before?.availability_pct, before?.stalled_pct], [100, 0]);
  isHanging = true;
  await clock.advance(9_000);
  const { ops, errors, response } = figures();
  assert.ok(errors > 0 && errors / ops < 0.01, `${errors} of ${ops}`);
  assert.ok((response.percentileUs(0.99) ?? 0) < 20_000, "percentiles do not show it");
  const after = availabilityOf([generator.answering], usual(10));
  assert.ok(Math.abs((after?.availability_pct ?? 0) - 32.5) < 1, JSON.stringify(after));
  // What came after the run's end is not in it.
  const drained = generator.drain(1_000);
  await clock.advance(3_000);
  await drained;
  assert.deepEqual(availabilityOf([generator.answering], usual(10)), after);
});

test("[SI5] [SI3] a generator that slept stalls nobody; a connection that is opened again has waited", async () => {
  const clock = new VirtualClock();
  const queue = { servers: 8, serviceMs: 10 };
  const target = new QueueTarget({ clock, ...queue });
  let sleptMs = 0;
  const own: Clock = {
    nowMs: () => clock.nowMs() + sleptMs,
    wallMs: () => clock.wallMs(),
    after: (delayMs, fire) => clock.after(delayMs, fire),
  };
  const { generator } = start(queue, { loop: "closed", clock: own, target });
  generator.setTarget({ connections: 2, qps: 0, rampMs: 0 });
  await clock.advance(1_000);
  sleptMs = 5_000;
  await clock.advance(1_000);
  assert.deepEqual(generator.answering.stalls, {});
  target.refuse("it is down");
  target.breakAll();
  await clock.advance(3_000);
  target.refuse(undefined);
  await clock.advance(2_000);
  const { stalls = {}, connection_ms: connectionMs } = generator.answering;
  const [waited] = Object.values(stalls).map((each) => Histogram.decode(each));
  assert.ok(waited?.count === 2 && (waited.minUs ?? 0) >= 3_000_000, JSON.stringify(waited));
  assert.ok(Math.abs((connectionMs ?? 0) - 24_000) < 100, `${connectionMs}`);
  await generator.close();
});

/** A clock whose process can be stopped: timers that came due meanwhile fire when it goes on. */
class StoppableClock implements Clock {
  readonly #world: VirtualClock;
  #stoppedUntilMs = -Infinity;
  #suspendedMs = 0;

  constructor(world: VirtualClock) {
    this.#world = world;
  }

  stop(lengthMs: number): void {
    this.#stoppedUntilMs = this.#world.nowMs() + lengthMs;
  }

  /** The machine sleeps: only the wall's clock goes on. */
  suspend(lengthMs: number): void {
    this.#suspendedMs += lengthMs;
  }

  nowMs(): number {
    return this.#world.nowMs();
  }

  wallMs(): number {
    return this.#world.wallMs() + this.#suspendedMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    let timer = this.#world.after(delayMs, () => {
      const restMs = this.#stoppedUntilMs - this.#world.nowMs();
      if (restMs > 0) timer = this.#world.after(restMs, fire);
      else fire();
    });
    return { cancel: () => timer.cancel() };
  }
}

/** Its target answers in time; who is stopped hears of it later. */
function stoppable(options: Partial<LoadGeneratorOptions>, serviceMs = 10) {
  const world = new VirtualClock();
  const clock = new StoppableClock(world);
  const target = new QueueTarget({ clock, servers: 50, serviceMs });
  const wake = clockWakeTimer(clock);
  return {
    ...start({ servers: 1, serviceMs }, { clock, target, wake, ...options }),
    world,
    own: clock,
  };
}

test("[GE10] [SI6] arrivals that came due while the generator was stopped are neither sent nor charged to the target", async () => {
  const { generator, figures, world, own } = stoppable({});
  generator.setTarget({ connections: 20, qps: 100, rampMs: 0 });
  await world.advance(10_000);
  own.stop(3_000);
  await world.advance(10_000);
  await drain(world, generator);
  const { ops, errors, unserved, response } = figures();
  const { frozen_ms: frozenMs = 0, skipped = 0, ...answering } = generator.answering;
  assert.ok(Math.abs(frozenMs - 3_000) < 60, `${frozenMs}`);
  assert.ok(Math.abs(skipped - 300) <= 5, `${skipped}`);
  assert.ok(Math.abs(ops + skipped - 2_000) <= 1, `${ops} and ${skipped}`);
  assert.deepEqual([errors, unserved], [0, 0]);
  assert.ok((response.percentileUs(0.99) ?? 0) < 12_000, "the target was fast all the time");
  const usual = { medianMs: 10, successes: ops, highMs: new Map(), isDead: false };
  assert.equal(availabilityOf([answering], usual)?.availability_pct, 100);
});

for (const loop of ["open", "closed"] as const) {
  test(`[SI6] [SI3] a generator that is stopped beyond the end of the run: ${loop} loop, no silence and nothing unserved`, async () => {
    const { generator, book, figures, world, own } = stoppable({ loop });
    book.cut("COOLDOWN", 10_000);
    generator.setTarget({ connections: 20, qps: loop === "open" ? 100 : 0, rampMs: 0 });
    await world.advance(8_000);
    own.stop(5_000);
    await world.advance(6_000);
    await drain(world, generator);
    const measured = figuresOf(book.snapshot().filter(({ phase }) => phase === "MEASUREMENT"));
    const { frozen_ms: frozenMs = 0 } = generator.answering;
    assert.ok(Math.abs(frozenMs - 2_000) < 60, `${frozenMs}`);
    assert.deepEqual([measured.errors, measured.unserved], [0, 0], JSON.stringify(figures()));
    const usual = { medianMs: 10, successes: measured.ops, highMs: new Map(), isDead: false };
    assert.equal(availabilityOf([generator.answering], usual)?.availability_pct, 100);
  });
}

test("[SI6] [GE5] what was under way when the generator was stopped for longer than a timeout has not timed out", async () => {
  const { generator, figures, world, own } = stoppable({
    loop: "closed",
    operationTimeoutMs: 2_000,
  });
  generator.setTarget({ connections: 4, qps: 0, rampMs: 0 });
  await world.advance(1_000);
  own.stop(5_000);
  await world.advance(6_000);
  assert.equal(figures().errors, 0);
  await drain(world, generator);
});

test("[SI6] a machine that slept is seen by the wall's clock, though the generator's own stood still", async () => {
  const { generator, world, own } = stoppable({ loop: "closed" });
  generator.setTarget({ connections: 1, qps: 0, rampMs: 0 });
  await world.advance(1_000);
  own.suspend(30_000);
  await world.advance(1_000);
  assert.equal(generator.answering.frozen_ms, 30_000);
  await drain(world, generator);
});
