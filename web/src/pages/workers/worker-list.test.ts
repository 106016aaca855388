import assert from "node:assert/strict";
import { test } from "node:test";
import type { Worker } from "../../api/gen/types.ts";
import { type ListView, listWorkers, parseSortKey } from "./worker-list.ts";

function worker(name: string, changes: Partial<Worker>, cpu?: string): Worker {
  const live =
    cpu === undefined
      ? null
      : { session: true, rtt_ms: 1, last_answer_ms_ago: 1, facts: { cpu_ratio: cpu } };
  return {
    worker_id: name,
    host_name: "10.0.0.7",
    grpc_port: 9000,
    state: "ACTIVE",
    state_reason: "",
    accepting_work: true,
    incarnation: "x",
    software_version: "0.1.0",
    ...changes,
    live,
  } as Worker;
}

const workers = [
  worker("worker-10", {}, "0.5"),
  worker("worker-2", { state: "UNREACHABLE", state_reason: "three misses" }),
  worker("worker-1", { draining: true }, "0.9"),
];
const all: ListView = { text: "", condition: "all", sort: "name", descending: false };

const cases: readonly (readonly [string, Partial<ListView>, readonly string[]])[] = [
  ["names by their numbers", {}, ["worker-1", "worker-2", "worker-10"]],
  ["descending", { descending: true }, ["worker-10", "worker-2", "worker-1"]],
  ["the worst state first", { sort: "state" }, ["worker-2", "worker-1", "worker-10"]],
  ["unknown last, ascending", { sort: "cpu" }, ["worker-10", "worker-1", "worker-2"]],
  [
    "unknown last, descending",
    { sort: "cpu", descending: true },
    ["worker-1", "worker-10", "worker-2"],
  ],
  ["only one condition", { condition: "draining" }, ["worker-1"]],
  ["text in a reason", { text: "Three " }, ["worker-2"]],
  ["text in no worker", { text: "nothing" }, []],
];
for (const [name, view, want] of cases) {
  test(`[WEB6] ${name}`, () => {
    assert.deepEqual(
      listWorkers(workers, { ...all, ...view }).map(({ worker_id }) => worker_id),
      want,
    );
  });
}

test("[WEB6] only known columns sort", () => {
  assert.equal(parseSortKey("cpu"), "cpu");
  assert.equal(parseSortKey("toString"), undefined);
});
