import assert from "node:assert/strict";
import { test } from "node:test";
import { Limiter } from "./limiter.ts";

test("[LO8] no more than so many at once, in order, and one that is cancelled is not begun", async () => {
  const limiter = new Limiter(2);
  const begun: number[] = [];
  const gates = [0, 1, 2, 3, 4].map(() => Promise.withResolvers<void>());
  const controller = new AbortController();
  const run = (index: number, signal?: AbortSignal): Promise<void> => {
    const task = async (): Promise<void> => {
      begun.push(index);
      await gates[index]?.promise;
      if (index === 0) throw new Error("it failed");
    };
    return limiter.run(`x${index}`, task, signal);
  };
  const [first, second, third, fourth, fifth] = [
    run(0),
    run(1),
    run(2, controller.signal),
    run(3),
    run(4),
  ];
  const firstFails = assert.rejects(first, /it failed/);
  const thirdLeaves = assert.rejects(third, { code: "cancelled" });
  await Promise.resolve();
  assert.deepEqual(begun, [0, 1]);
  controller.abort();
  await thirdLeaves;
  gates[0]?.resolve();
  await firstFails;
  assert.deepEqual(begun, [0, 1, 3]);
  for (const gate of gates) gate.resolve();
  await Promise.all([second, fourth, fifth]);
  assert.deepEqual(begun, [0, 1, 3, 4]);
});
