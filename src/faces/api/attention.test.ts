import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttentionItem } from "../../ground/http/index.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { settleMicrotasks, VirtualClock } from "../../ground/kernel/testing/virtual-clock.ts";
import { readTargetsAttention } from "../../kinds/ask/http/attention.ts";
import type { IngestService } from "../../kinds/ask/metrics/index.ts";
import type { LoadService } from "../../kinds/load/index.ts";
import { readTablesAttention } from "../../kinds/refresh/http/attention.ts";
import type { DynamicTableBody } from "../../kinds/refresh/http/table-schemas.ts";
import type { TablesPort } from "../../kinds/refresh/http/tables-port.ts";
import { Attention } from "./attention.ts";
import { FakeCluster } from "./testing/fake-ports.ts";

const well = {
  status: "ACTIVE",
  status_reason: "",
  wait_reason: "",
  late_since_ms: null,
  last_error: null,
  failures_in_a_row: 0,
  last_refresh: { state: "SUCCEEDED", action: "FULL", at_ms: 7 },
} as unknown as DynamicTableBody;

function tablesPort(items: readonly DynamicTableBody[]): TablesPort {
  const tables: Partial<TablesPort> = { listDynamic: async () => ({ nowMs: 0, items }) };
  return tables as TablesPort;
}

function words({ kind, name, severity, state, reason }: AttentionItem): string {
  return [kind, name, severity, state, reason].join(" | ");
}

test("[AP45] everything that is wrong is listed, the worst first, and nothing that is well", async () => {
  const cluster = new FakeCluster();
  const worker = cluster.workers.get("worker-2");
  assert.ok(worker !== undefined);
  cluster.workers.set("worker-2", { ...worker, state: "UNREACHABLE", state_reason: "silent" });
  const live = { session: true, rtt_ms: 1, last_answer_ms_ago: 1 };
  const facts = { queue_depth: "1", part_data_dir: "failed since 2026-01-01T00:00:00.000Z: gone" };
  cluster.workers.set("worker-3", { ...worker, worker_id: "worker-3", live: { ...live, facts } });
  cluster.parts = [
    { name: "lease", state: "ok", since_ms: 1, vital: true },
    { name: "disk", state: "degraded", reason: "full", since_ms: 1, vital: false },
  ];
  cluster.tables = tablesPort([
    { ...well, name: "fine" },
    { ...well, name: "late", late_since_ms: 5 },
    { ...well, name: "stopped", status: "SUSPENDED", status_reason: "by hand" },
    { ...well, name: "again", failures_in_a_row: 2, last_error: "no cast" },
    { ...well, name: "broken", status: "FAILED", status_reason: "no such column" },
  ]);
  const run = { run_id: "r1", status: "COMPLETED", test_name: "checkout", created_at_ms: 3 };
  const runs = [
    { ...run, verdict: "FAILED", cancellation_reason: null },
    { ...run, run_id: "r2", verdict: "PASSED" },
  ];
  cluster.load = { list: async () => ({ items: runs }) } as unknown as LoadService;
  const ingest = async () =>
    ({
      targets: async () => [
        { pool: "node", url: "http://a/metrics", health: "down", lastError: "refused" },
        { pool: "node", url: "http://b/metrics", health: "up", lastError: "" },
        { pool: "node", url: "http://c/metrics", health: "unknown", lastError: "" },
      ],
    }) as unknown as IngestService;
  const ports = cluster.ports();
  const attention = { ...ports.attention, "scrape targets": () => readTargetsAttention(ingest) };
  const { total, items } = await new Attention({ ...ports, attention }).read();
  assert.deepEqual(items.map(words), [
    "worker | worker-2 | failed | unreachable | silent",
    "worker | worker-3 | failed | failed | data_dir: gone",
    "dynamic_table | broken | failed | failed | no such column",
    "part | disk | degraded | degraded | full",
    "dynamic_table | late | degraded | late | ",
    "dynamic_table | stopped | degraded | suspended | by hand",
    "dynamic_table | again | degraded | retrying | no cast",
    "load_run | checkout | degraded | failed | the verdict is FAILED",
    "scrape_target | node http://a/metrics | degraded | down | refused",
  ]);
  assert.equal(total, 9);
  assert.equal(items[1]?.since_ms, Date.UTC(2026, 0, 1));
});

test("[AP46] a source that fails, or never answers, is on the list and takes nothing from the others", async () => {
  const cluster = new FakeCluster();
  cluster.parts = [{ name: "store", state: "failed", reason: "gone", since_ms: 1, vital: true }];
  const attention = {
    "dynamic tables": async () => {
      throw new OperatingError("store_unavailable", "backoff", "away");
    },
    "scrape targets": () => readTargetsAttention(() => new Promise(() => undefined)),
  };
  const { items } = await new Attention({ ...cluster.ports(), attention }).read();
  assert.deepEqual(items.map(words), [
    "part | store | failed | failed | gone",
    "part | dynamic tables | degraded | unknown | dynamic tables could not be read: away",
    "part | scrape targets | degraded | unknown | scrape targets could not be read: no answer within 2 s",
  ]);
});

test("[AP46] what was last known of a source stays while it cannot be read, which is tried once at a time", async () => {
  const cluster = new FakeCluster();
  const clock = new VirtualClock();
  const pending: { resolve: (list: { nowMs: number; items: DynamicTableBody[] }) => void }[] = [];
  const tables: TablesPort = {
    ...tablesPort([]),
    listDynamic: () => new Promise((resolve) => pending.push({ resolve })),
  };
  const attention = new Attention({
    ...cluster.ports(),
    clock,
    attention: { "dynamic tables": () => readTablesAttention(tables) },
  });
  const next = async (answer?: DynamicTableBody[]): Promise<readonly string[]> => {
    const reading = attention.read();
    await settleMicrotasks();
    if (answer !== undefined) pending.at(-1)?.resolve({ nowMs: 0, items: answer });
    await settleMicrotasks();
    await clock.advance(2_000);
    return (await reading).items.map(({ name, state }) => `${name} ${state}`);
  };
  assert.deepEqual(await next([{ ...well, name: "late", late_since_ms: 5 }]), ["late late"]);
  assert.deepEqual(await next(), ["late late", "dynamic tables unknown"]);
  assert.deepEqual(await next(), ["late late", "dynamic tables unknown"]);
  assert.equal(pending.length, 2);
  assert.deepEqual(await next([]), []);
});

test("[AP46] a fault of our own is told without its details, which the log has once", async () => {
  const cluster = new FakeCluster();
  cluster.tables = {
    ...tablesPort([]),
    listDynamic: async () => {
      throw new TypeError("row does not parse");
    },
  };
  const { items } = await new Attention(cluster.ports()).read();
  assert.deepEqual(items.map(words), [
    "part | dynamic tables | degraded | unknown | dynamic tables could not be read: an internal error, which the log has",
  ]);
  assert.equal(
    cluster.lines.filter(({ fields }) => fields.error === "row does not parse").length,
    1,
  );
});

test("[AP46] what another process has is not looked for here", async () => {
  const cluster = new FakeCluster();
  cluster.leading = false;
  assert.deepEqual((await new Attention(cluster.ports()).read()).items, []);
});
