import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerNode } from "./controller-node.ts";
import { waitingWork } from "./waiting-work.ts";

type Waits = Parameters<typeof waitingWork>;

function nodeWith(
  board: Waits[1],
  workers: readonly (Readonly<Record<string, string>> | undefined)[],
): Waits[0] {
  const views = workers.map((facts) => ({ live: facts === undefined ? undefined : { facts } }));
  const node = { manager: { queue: () => board }, pool: { views: () => views } };
  return node as unknown as ControllerNode;
}

const nothing = { depth: 0, oldestAgeMs: 0 };
const cases = [
  { name: "nothing waits", gate: nothing, board: nothing, workers: [{}, undefined], want: [0, 0] },
  {
    name: "at the gate",
    gate: { depth: 3, oldestAgeMs: 700 },
    board: nothing,
    workers: [{}],
    want: [3, 700],
  },
  {
    name: "on the board",
    gate: nothing,
    board: { depth: 2, oldestAgeMs: 50 },
    workers: [],
    want: [2, 50],
  },
  {
    name: "in workers' queues, of those with a session",
    gate: nothing,
    board: nothing,
    workers: [
      { queue_depth: "4", queue_oldest_ms: "90" },
      { queue_depth: "1", queue_oldest_ms: "800" },
      undefined,
    ],
    want: [5, 800],
  },
  {
    name: "everywhere",
    gate: { depth: 1, oldestAgeMs: 10 },
    board: { depth: 2, oldestAgeMs: 30 },
    workers: [{ queue_depth: "4", queue_oldest_ms: "20" }],
    want: [7, 30],
  },
];
for (const { name, gate, board, workers, want } of cases) {
  test(`[QP14] what waits is counted wherever it waits: ${name}`, () => {
    const { depth, oldestAgeMs } = waitingWork(nodeWith(board, workers), gate);
    assert.deepEqual([depth, oldestAgeMs], want);
  });
}
