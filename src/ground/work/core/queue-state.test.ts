import assert from "node:assert/strict";
import { test } from "node:test";
import { combineQueues, queueOfFacts } from "./queue-state.ts";

test("[QP14] what waits anywhere counts, and the oldest of all is the oldest", () => {
  const gate = { depth: 40, oldestAgeMs: 119_000 };
  const board = { depth: 10, oldestAgeMs: 950 };
  const worker = queueOfFacts({ queue_depth: "3", queue_oldest_ms: "4000" });
  assert.deepEqual(combineQueues([gate, board, worker]), { depth: 53, oldestAgeMs: 119_000 });
  assert.deepEqual(combineQueues([]), { depth: 0, oldestAgeMs: 0 });
});

test("[QP14] a worker that says nothing of its queue, or has none, adds nothing", () => {
  assert.deepEqual(queueOfFacts({}), { depth: 0, oldestAgeMs: 0 });
  assert.deepEqual(queueOfFacts({ queue_depth: "0", queue_oldest_ms: "70" }), {
    depth: 0,
    oldestAgeMs: 0,
  });
});
