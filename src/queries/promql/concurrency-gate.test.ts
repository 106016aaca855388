import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import { ByteBudget, EventQueue } from "./event-queue.ts";

const never = new AbortController().signal;

test("[QP8] so many run, so many wait, the rest is told overloaded", async () => {
  const gate = new ConcurrencyGate(2, 1);
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
  assert.equal(gate.waitingCount, 1);
  leaveThird();
  await fourth;
});

test("[QP8] whoever gives up waiting leaves the queue", async () => {
  const gate = new ConcurrencyGate(1, 1);
  const leave = await gate.enter(never);
  const abort = new AbortController();
  const waiting = gate.enter(abort.signal);
  abort.abort(new Error("gone"));
  await assert.rejects(waiting, /gone/);
  assert.equal(gate.waitingCount, 0);
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
