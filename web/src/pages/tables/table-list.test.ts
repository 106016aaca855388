import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeTables } from "../../../testing/fake-tables.ts";
import type { DynamicTable } from "../../api/gen/types.ts";
import { formatLag } from "../../format.ts";
import { conditionOf, lagRatioOf, reasonOf, targetText } from "./table-condition.ts";
import { graphTables, joinTables, listTables, type TablesView } from "./table-list.ts";

const nowMs = Date.now();
const fake = new FakeTables(() => undefined);
fake.addDynamic("revenue", ["orders"], { data_time_ms: nowMs - 20_000 });
fake.addDynamic("report", ["revenue"], { target_lag_ms: null, data_time_ms: nowMs - 90_000 });
fake.addDynamic("broken", ["orders"], {
  status: "FAILED",
  status_reason: "no such column",
  data_time_ms: null,
});
const dynamic = [...fake.dynamic.values()];
const orders = fake.plain.get("orders");
assert.ok(orders !== undefined);
const unread = { ...orders, name: "unread" };
const listed = joinTables([{ ...orders, readers: ["revenue"] }, unread], dynamic);
const view: TablesView = {
  as: "list",
  text: "",
  condition: "all",
  sort: "state",
  descending: false,
};

function names(change: Partial<TablesView>): readonly string[] {
  return listTables(listed, { ...view, ...change }, nowMs).map(({ name }) => name);
}

const base = dynamic[0] as DynamicTable;
const conditions: readonly [want: string, change: Partial<DynamicTable>][] = [
  ["fresh", {}],
  ["new", { data_time_ms: null }],
  ["refreshing", { activity: "refreshing" }],
  ["retrying", { failures_in_a_row: 1, activity: "refreshing" }],
  ["late", { late_since_ms: nowMs, failures_in_a_row: 1 }],
  ["suspended", { status: "SUSPENDED", failures_in_a_row: 5 }],
  ["failed", { status: "FAILED", late_since_ms: nowMs }],
];
for (const [want, change] of conditions) {
  test(`[WEB41] ${want}: ${JSON.stringify(Object.keys(change))}`, () => {
    assert.equal(conditionOf({ ...base, ...change }), want);
  });
}

test("[WEB41] lag against target, and why a table is as it is", () => {
  assert.equal(lagRatioOf(base, nowMs)?.toFixed(2), "0.67");
  assert.equal(targetText(base), "30 s");
  assert.equal(targetText({ ...base, target_lag_ms: null }), "downstream (30 s)");
  const stopped = { ...base, status: "FAILED", status_reason: "gone", wait_reason: "w" } as const;
  assert.equal(reasonOf(stopped), "gone");
  assert.equal(reasonOf({ ...base, wait_reason: "orders is FAILED" }), "orders is FAILED");
  assert.equal(reasonOf({ ...base, failures_in_a_row: 1, last_error: "oops" }), "oops");
  assert.deepEqual(
    [0, 999, 1_000, 59_499, 60_000, 61_000, 3_600_000, 5_400_000, 172_800_000].map(formatLag),
    ["0 ms", "999 ms", "1 s", "59 s", "1 min", "1 min 1 s", "1 h", "1 h 30 min", "2 d"],
  );
});

test("[WEB42] the worst first, plain tables last; by name, column, reason and state", () => {
  assert.deepEqual(names({}), ["broken", "report", "revenue", "orders", "unread"]);
  assert.deepEqual(names({ sort: "lag", descending: true }), [
    "report",
    "revenue",
    "broken",
    "orders",
    "unread",
  ]);
  // Two match by a column's name.
  assert.deepEqual(names({ text: "REV" }), ["revenue", "orders", "unread"]);
  assert.deepEqual(names({ text: "such col" }), ["broken"]);
  assert.deepEqual(names({ condition: "failed" }), ["broken"]);
  assert.deepEqual(
    graphTables(listed).map(({ name }) => name),
    ["revenue", "report", "broken", "orders"],
  );
});
