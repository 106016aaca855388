import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BoundedQueue } from "./bounded-queue.ts";
import { AssertionError } from "./errors.ts";
import { settleMicrotasks } from "./testing/virtual-clock.ts";

/** Consumes in the background; `items` grows as they arrive. */
function consume<T>(queue: BoundedQueue<T>): { items: T[]; done: Promise<void> } {
  const items: T[] = [];
  const run = async (): Promise<void> => {
    for await (const item of queue) items.push(item);
  };
  return { items, done: run() };
}

test("a capacity is a positive integer", () => {
  for (const bad of [0, -1, 1.5, Number.NaN])
    assert.throws(() => new BoundedQueue(bad), AssertionError);
});

test("first in, first out; what does not fit is refused", () => {
  const queue = new BoundedQueue<string>(2);
  assert(queue.push("a"));
  assert(queue.push("b"));
  assert(!queue.push("c"));
  assert.equal(queue.length, 2);
  assert.equal(queue.shift(), "a");
  assert(queue.push("d"));
  assert.equal(queue.shift(), "b");
  assert.equal(queue.shift(), "d");
  assert.equal(queue.shift(), undefined);
});

test("any sequence of pushes and shifts is that of a plain array", () => {
  const moves = fc.array(fc.boolean(), { maxLength: 600, size: "max" });
  fc.assert(
    fc.property(moves, fc.integer({ min: 1, max: 200 }), (pushes, capacity) => {
      const queue = new BoundedQueue<number>(capacity);
      const model: number[] = [];
      for (const [index, isPush] of pushes.entries()) {
        if (isPush) {
          const fits = model.length < capacity;
          assert.equal(queue.push(index), fits);
          if (fits) model.push(index);
        } else {
          assert.equal(queue.shift(), model.shift());
        }
        assert.equal(queue.length, model.length);
      }
    }),
  );
});

test("a consumer gets what is there and waits for more, until the queue is closed and empty", async () => {
  const queue = new BoundedQueue<number>(10);
  queue.push(1);
  const { items, done } = consume(queue);
  await settleMicrotasks();
  assert.deepEqual(items, [1]);
  queue.push(2);
  queue.push(3);
  queue.close();
  assert(queue.closed);
  assert(!queue.push(4));
  await done;
  assert.deepEqual(items, [1, 2, 3]);
});

test("closing wakes a consumer that waits", async () => {
  const queue = new BoundedQueue<number>(1);
  const { items, done } = consume(queue);
  await settleMicrotasks();
  queue.close();
  await done;
  assert.deepEqual(items, []);
});

test("a second consumer is a bug", async () => {
  const queue = new BoundedQueue<number>(1);
  const { done } = consume(queue);
  await settleMicrotasks();
  await assert.rejects(consume(queue).done, AssertionError);
  queue.close();
  await done;
});
