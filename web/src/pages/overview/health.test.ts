import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus, Worker } from "../../api/types.ts";
import { judgeHealth } from "./health.ts";

const leader = { role: "leader" } as ClusterStatus;
const up = { state: "ACTIVE", accepting_work: true } as Worker;
const full = { state: "ACTIVE", accepting_work: false } as Worker;
const draining = { state: "ACTIVE", accepting_work: true, drain_requested: true } as Worker;
const down = { state: "UNREACHABLE", accepting_work: true } as Worker;

const cases: readonly (readonly [readonly Worker[], string, string])[] = [
  [[], "warn", "No workers"],
  [[up, up], "good", "Healthy"],
  [[up, full], "good", "Healthy"],
  [[up, draining], "good", "Healthy"],
  [[up, down], "warn", "Degraded"],
  [[full, draining], "warn", "No worker takes work"],
  [[draining, down], "warn", "No worker takes work"],
  [[down, down], "bad", "No worker answers"],
];
for (const [workers, tone, title] of cases) {
  const names = workers.map((worker) => (worker === down ? "down" : "up")).join(", ") || "none";
  test(`[WEB5] ${title} (workers: ${names})`, () => {
    const health = judgeHealth(leader, workers);
    assert.deepEqual([health.tone, health.title], [tone, title]);
  });
}

test("[WEB5] a healthy standby says that it stands by", () => {
  const standby = { role: "standby", lease: null } as ClusterStatus;
  assert.equal(judgeHealth(standby, [up]).title, "Standing by");
});
