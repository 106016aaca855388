import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttentionItem, ClusterStatus, Worker } from "../../api/gen/types.ts";
import { judgeHealth } from "./health.ts";

const leader = { role: "leader" } as ClusterStatus;
const up = { state: "ACTIVE", accepting_work: true } as Worker;
const full = { state: "ACTIVE", accepting_work: false } as Worker;
const draining = { state: "ACTIVE", accepting_work: true, drain_requested: true } as Worker;
const down = { state: "UNREACHABLE", accepting_work: true } as Worker;

const nothing = { total: 0, items: [] };
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
    const health = judgeHealth(leader, workers, nothing);
    assert.deepEqual([health.tone, health.title], [tone, title]);
  });
}

test("[WEB5] a healthy standby says that it stands by", () => {
  const standby = { role: "standby", lease: null } as ClusterStatus;
  assert.equal(judgeHealth(standby, [up], nothing).title, "Standing by");
});

test("[WEB5] nothing that needs attention goes with Healthy, whatever the workers do", () => {
  const table = { kind: "dynamic_table", severity: "failed" } as AttentionItem;
  const target = { kind: "scrape_target", severity: "degraded" } as AttentionItem;
  const query = { kind: "stream_query", severity: "failed" } as AttentionItem;
  const part = { kind: "part", name: "store", severity: "failed", reason: "gone" } as AttentionItem;
  const judge = (...items: AttentionItem[]): unknown[] =>
    Object.values(judgeHealth(leader, [up], { total: items.length, items }));
  const detail = "2 dynamic tables, 1 scrape target; queries are answered.";
  assert.deepEqual(judge(table, table, target), ["bad", "Needs attention", detail]);
  const queries = "2 continuous queries; queries are answered.";
  assert.deepEqual(judge(query, query), ["bad", "Needs attention", queries]);
  assert.deepEqual(judge(target).slice(0, 2), ["warn", "Needs attention"]);
  const unread = { kind: "part", severity: "degraded", state: "unknown" } as AttentionItem;
  assert.deepEqual(judge(unread).slice(0, 2), ["warn", "Needs attention"]);
  assert.deepEqual(judge(target, part), ["bad", "Failing", "store: gone"]);
});
