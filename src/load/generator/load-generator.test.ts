import assert from "node:assert/strict";
import { test } from "node:test";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { clockWakeTimer } from "../../kernel/wake-timer.ts";
import { figuresOf } from "../core/figures.ts";
import { SeriesBook } from "../core/series-book.ts";
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

test("[GE2] beyond the waiting line's length arrivals are dropped, and counted", async () => {
  const { clock, generator } = start({ servers: 1, serviceMs: 1_000 }, { waitingMax: 5 });
  generator.setTarget({ connections: 1, qps: 10, rampMs: 0 });
  await clock.advance(2_050);
  assert.equal(generator.waiting, 5);
  assert.ok(generator.dropped >= 12, `${generator.dropped}`);
  await drain(clock, generator);
  assert.equal(generator.unsent, 5);
});

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
  generator.enter("MEASUREMENT", 0);
  await clock.advance(1_000);
  await drain(clock, generator);
  const ops = new Map(book.snapshot().map(({ phase, ops: count }) => [phase, count]));
  assert.deepEqual([ops.get("WARMUP"), ops.get("MEASUREMENT")], [20, 20]);
});

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
