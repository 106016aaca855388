import assert from "node:assert/strict";
import { test } from "node:test";
import { createPaint } from "../../../ground/command/output/terminal.ts";
import type { WatchMessage } from "../http/watch-messages.ts";
import { describeTableChange } from "./watch-tables.ts";
import { WatchView } from "./watch-view.ts";

const nowMs = new Date(2026, 0, 1, 12, 0, 30).getTime();
const row = {
  dynamic_table: "revenue",
  status: "ACTIVE",
  status_reason: "",
  wait_reason: "",
  mode: "INCREMENTAL",
  target_lag_ms: 30_000,
  target_snapshot: null,
  data_time_ms: nowMs - 2_500,
  late_since_ms: null,
  last_error: null,
  last_refresh_state: "SUCCEEDED",
  last_refresh_action: "INCREMENTAL",
  last_refresh_at_ms: nowMs - 2_000,
};

test("[CM17] WATCH DYNAMIC TABLES shows states, then what happens, in words", () => {
  const said: string[] = [];
  const view = new WatchView({
    out: (text) => said.push(text),
    err: () => undefined,
    interactive: false,
    columns: 80,
    paint: createPaint(false),
    paintError: createPaint(false),
  });
  const late = { ...row, late_since_ms: nowMs - 1_000, target_snapshot: 7 };
  const messages: readonly WatchMessage[] = [
    { type: "SNAPSHOT", revision: 4, data: [row] },
    { type: "EVENT", op: "UPDATE", key: "revenue", revision: 5, data: late },
    { type: "EVENT", op: "DROP", key: "revenue", revision: 6 },
  ];
  for (const message of messages) view.show(message, nowMs);
  assert.deepEqual(said.join("").split("\n"), [
    "12:00:30 SNAPSHOT revision 4, rows: 1",
    "NAME     STATE     LAG  TARGET  MODE         LAST REFRESH          REASON",
    "revenue  ACTIVE  2.5 s  30.0 s  INCREMENTAL  INCREMENTAL 12:00:28",
    "12:00:30 UPDATE revenue  late since 12:00:29, refresh due",
    "12:00:30 DROP   revenue",
    "",
  ]);
});

const changes: readonly [change: object, want: readonly string[]][] = [
  [{ last_refresh_at_ms: nowMs, data_time_ms: nowMs - 400 }, ["refreshed INCREMENTAL, lag 400 ms"]],
  [
    { last_refresh_at_ms: nowMs, data_time_ms: nowMs, last_refresh_action: "NO_DATA" },
    ["nothing new in its sources"],
  ],
  [
    { last_refresh_at_ms: nowMs, last_refresh_state: "FAILED", last_error: "no such column" },
    ["refresh FAILED: no such column"],
  ],
  [{ status: "SUSPENDED", status_reason: "by request" }, ["ACTIVE → SUSPENDED: by request"]],
  [{ target_lag_ms: null }, ["target 30.0 s → DOWNSTREAM"]],
  [{ wait_reason: "orders is FAILED" }, ["waits: orders is FAILED"]],
];
for (const [change, want] of changes) {
  test(`[CM17] says: ${want}`, () => {
    assert.deepEqual(describeTableChange(row, { ...row, ...change }), want);
  });
}
