import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckpointEffect, QueryCheckpoints } from "./query-checkpoints.ts";

function open(last = 0, completed = 0): QueryCheckpoints {
  const fragments = ["f0", "f1"];
  const times = { intervalMs: 10, pauseMs: 3, timeoutMs: 100, nowMs: 0 };
  return new QueryCheckpoints({ fragments, last, completed, savepointsTaken: 2, ...times });
}

function said(fragment: string) {
  return { state: { fragment, nodes: [], positions: {}, objects: [] }, prepared: new Map() };
}

const shortly = (effects: readonly CheckpointEffect[]) =>
  effects.map((effect) =>
    effect.kind === "final" ? "final" : `${effect.kind} ${effect.checkpoint}`,
  );

const recordOf = (effects: readonly CheckpointEffect[]) =>
  effects.flatMap((effect) => (effect.kind === "record" ? [effect.savepoint] : []));

test("[SD24] a checkpoint is recorded when every fragment has said its state", () => {
  const checkpoints = open(4);
  assert.deepEqual(shortly(checkpoints.tick(9)), []);
  assert.deepEqual(shortly(checkpoints.tick(10)), ["trigger 5"]);
  assert.deepEqual(shortly(checkpoints.checkpointed(5, said("f1"))), []);
  assert.deepEqual(shortly(checkpoints.checkpointed(5, said("f0"))), ["record 5"]);
  assert.deepEqual(shortly(checkpoints.tick(1_000)), [], "nothing begins while it is recorded");
  assert.equal(checkpoints.dueMs, Number.POSITIVE_INFINITY);
  assert.deepEqual(shortly(checkpoints.recorded(12)), ["tell 5"]);
  assert.deepEqual(shortly(checkpoints.tick(19)), []);
  assert.deepEqual(shortly(checkpoints.tick(20)), ["trigger 6"]);
});

test("[SD43] after one that took long the next one waits for the pause", () => {
  const checkpoints = open(4);
  checkpoints.tick(10);
  checkpoints.checkpointed(5, said("f0"));
  checkpoints.checkpointed(5, said("f1"));
  checkpoints.recorded(30);
  assert.equal(checkpoints.dueMs, 33);
  assert.deepEqual(shortly(checkpoints.tick(32)), []);
  assert.deepEqual(shortly(checkpoints.savepoint(3, 32)), ["trigger 6"], "a savepoint does not");
});

test("[SD24] what is said of another checkpoint does not count", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  checkpoints.checkpointed(1, said("f0"));
  assert.deepEqual(shortly(checkpoints.checkpointed(2, said("f1"))), []);
  assert.deepEqual(shortly(checkpoints.checkpointed(1, said("f1"))), ["record 1"]);
});

test("[SD24] one that takes too long is given up, and none follows it in this epoch", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  checkpoints.checkpointed(1, said("f0"));
  assert.deepEqual(checkpoints.tick(110), [{ kind: "givenUp", checkpoint: 1, missing: ["f1"] }]);
  assert.deepEqual(shortly(checkpoints.checkpointed(1, said("f1"))), []);
  assert.deepEqual(shortly(checkpoints.tick(1_000)), []);
  assert.deepEqual(shortly(checkpoints.savepoint(3, 300)), [], "nor a savepoint [SD40]");
  assert.deepEqual(shortly(checkpoints.end(3, 300)), [], "nor the last one");
});

test("[SD25] a worker that is back is told again of the one under way", () => {
  const checkpoints = open();
  assert.deepEqual(shortly(checkpoints.again()), []);
  checkpoints.tick(10);
  assert.deepEqual(shortly(checkpoints.again()), ["trigger 1"]);
  checkpoints.checkpointed(1, said("f0"));
  checkpoints.checkpointed(1, said("f1"));
  assert.deepEqual(shortly(checkpoints.again()), []);
});

test("[SD26] the last one begins when all have ended, and once", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  checkpoints.checkpointed(1, said("f0"));
  checkpoints.checkpointed(1, said("f1"));
  checkpoints.recorded(12);
  assert.deepEqual(shortly(checkpoints.end(2, 13)), ["trigger 2"]);
  assert.deepEqual(shortly(checkpoints.end(2, 14)), []);
  checkpoints.checkpointed(2, said("f0"));
  checkpoints.checkpointed(2, said("f1"));
  assert.deepEqual(shortly(checkpoints.recorded(15)), ["tell 2", "final"]);
  assert.ok(checkpoints.isFinal);
  assert.deepEqual(shortly(checkpoints.tick(1_000)), []);
});

test("[SD35] what an earlier leader may have begun is completed before the last one begins", () => {
  const checkpoints = open(7, 7);
  assert.deepEqual(shortly(checkpoints.end(3, 3)), ["trigger 8"]);
  checkpoints.checkpointed(8, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(8, said("f1"))), [undefined]);
  assert.deepEqual(shortly(checkpoints.recorded(5)), ["tell 8", "trigger 9"]);
  assert.ok(!checkpoints.isFinal);
  checkpoints.checkpointed(9, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(9, said("f1"))), [3]);
  assert.deepEqual(shortly(checkpoints.recorded(6)), ["tell 9", "final"]);
});

test("[SD36] a new leader tells of the newest complete one of the epoch", () => {
  assert.deepEqual(open(7, 7).tick(10), [{ kind: "trigger", checkpoint: 8, completed: 7 }]);
  assert.deepEqual(open(7, 0).tick(10), [{ kind: "trigger", checkpoint: 8, completed: 0 }]);
});

test("[SD26] one that began before does not hold the end: another follows it", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  checkpoints.checkpointed(1, said("f0"));
  checkpoints.checkpointed(1, said("f1"));
  assert.deepEqual(shortly(checkpoints.end(2, 12)), [], "while it is being recorded");
  assert.deepEqual(shortly(checkpoints.recorded(20)), ["tell 1", "trigger 2"]);
  assert.ok(!checkpoints.isFinal);
});

test("[SD40] a savepoint begins at once, and answers all that asked before", () => {
  const checkpoints = open(4);
  assert.deepEqual(shortly(checkpoints.savepoint(2, 1)), [], "those two were taken");
  assert.deepEqual(shortly(checkpoints.savepoint(4, 1)), ["trigger 5"]);
  assert.deepEqual(shortly(checkpoints.savepoint(4, 1)), [], "it is under way");
  checkpoints.checkpointed(5, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(5, said("f1"))), [4]);
  assert.deepEqual(shortly(checkpoints.recorded(2)), ["tell 5"]);
  checkpoints.tick(12);
  checkpoints.checkpointed(6, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(6, said("f1"))), [undefined]);
});

test("[SD40] a savepoint that is asked for during a checkpoint follows it at once", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  assert.deepEqual(shortly(checkpoints.savepoint(3, 11)), []);
  checkpoints.checkpointed(1, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(1, said("f1"))), [undefined]);
  assert.deepEqual(shortly(checkpoints.recorded(12)), ["tell 1", "trigger 2"]);
});

test("[SD40] the last checkpoint is also the savepoint that was asked for", () => {
  const checkpoints = open();
  checkpoints.tick(10);
  checkpoints.checkpointed(1, said("f0"));
  checkpoints.checkpointed(1, said("f1"));
  checkpoints.recorded(11);
  assert.deepEqual(shortly(checkpoints.end(3, 12)), ["trigger 2"]);
  assert.deepEqual(shortly(checkpoints.savepoint(3, 12)), []);
  checkpoints.checkpointed(2, said("f0"));
  assert.deepEqual(recordOf(checkpoints.checkpointed(2, said("f1"))), [3]);
  assert.deepEqual(shortly(checkpoints.recorded(13)), ["tell 2", "final"]);
});
