import assert from "node:assert/strict";
import { test } from "node:test";
import { BarrierGate } from "./barrier-gate.ts";

test("[SU20] a checkpoint is taken once, when all senders have brought their barrier", async () => {
  const taken: number[] = [];
  const gate = new BarrierGate(3, (checkpoint) => taken.push(checkpoint));
  const waits = [gate.arrived(7), gate.arrived(7)];
  await Promise.resolve();
  assert.deepEqual(taken, []);
  waits.push(gate.arrived(7));
  await Promise.all(waits);
  assert.deepEqual(taken, [7]);
  const next = [gate.arrived(8), gate.arrived(8), gate.arrived(8)];
  await Promise.all(next);
  assert.deepEqual(taken, [7, 8]);
});

test("[SU20] a sender that ended is not waited for", async () => {
  const taken: number[] = [];
  const gate = new BarrierGate(2, (checkpoint) => taken.push(checkpoint));
  const wait = gate.arrived(1);
  gate.ended();
  await wait;
  assert.deepEqual(taken, [1]);
  gate.ended();
  assert.deepEqual(taken, [1]);
});

test("[SU20] sources beside senders: the checkpoint waits for the barriers, if there will be any", async () => {
  const taken: number[] = [];
  const gate = new BarrierGate(1, (checkpoint) => taken.push(checkpoint));
  gate.begin(1);
  assert.deepEqual(taken, []);
  await gate.arrived(1);
  assert.deepEqual(taken, [1]);
  const wait = gate.arrived(2);
  gate.begin(2); // The barrier was faster than the word that it is under way.
  await wait;
  gate.begin(3);
  gate.ended();
  gate.begin(4);
  assert.deepEqual(taken, [1, 2, 3, 4]);
});
