import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import { ByteBudget, EventQueue } from "./event-queue.ts";

const never = new AbortController().signal;
const clock = new VirtualClock();

test("[QP8] so many run, so many wait, the rest is told overloaded", async () => {
  const gate = new ConcurrencyGate(2, 1, clock);
  const leaveFirst = await gate.enter(never);
  await gate.enter(never);
  const third = gate.enter(never);
  await assert.rejects(
    gate.enter(never),
    (thrown) => thrown instanceof OperatingError && thrown.code === "overloaded",
  );
  leaveFirst();
  leaveFirst(); // Leaving twice frees one place.
  const leaveThird = await third;
  const fourth = gate.enter(never);
  assert.equal(gate.waiting().depth, 1);
  leaveThird();
  await fourth;
});

test("[QP14] what waits at the gate is counted, with the age of the oldest", async () => {
  const gate = new ConcurrencyGate(1, 10, clock);
  assert.deepEqual(gate.waiting(), { depth: 0, oldestAgeMs: 0 });
  const leave = await gate.enter(never);
  const second = gate.enter(never);
  await clock.advance(2_000);
  const third = gate.enter(never);
  await clock.advance(500);
  assert.deepEqual(gate.waiting(), { depth: 2, oldestAgeMs: 2_500 });
  leave();
  (await second)();
  await third;
  assert.deepEqual(gate.waiting(), { depth: 0, oldestAgeMs: 0 });
});

test("[QP8] whoever gives up waiting leaves the queue", async () => {
  const gate = new ConcurrencyGate(1, 1, clock);
  const leave = await gate.enter(never);
  const abort = new AbortController();
  const waiting = gate.enter(abort.signal);
  abort.abort(new Error("gone"));
  await assert.rejects(waiting, /gone/);
  assert.equal(gate.waiting().depth, 0);
  leave();
  await gate.enter(never);
});

test("[QP7] events are read in order, and a reader that leaves is noticed", async () => {
  let left = 0;
  const queue = new EventQueue<number>(new ByteBudget(10), () => {
    left += 1;
  });
  queue.push(1);
  queue.push(2);
  const seen: number[] = [];
  const reading = (async () => {
    for await (const event of queue) seen.push(event);
  })();
  await Promise.resolve();
  queue.push(3);
  queue.end();
  await reading;
  assert.deepEqual([seen, left], [[1, 2, 3], 1]);

  const other = new EventQueue<number>(new ByteBudget(10), () => {
    left += 1;
  });
  other.push(1);
  for await (const event of other) {
    assert.equal(event, 1);
    break;
  }
  assert.equal(left, 2);
});
