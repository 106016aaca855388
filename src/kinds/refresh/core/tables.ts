/**
 * The store tables of this room. `004-tables.sql` and `010-refresh-healing.sql` in `sql/schema`
 * describe their columns.
 */
import {
  columnTypesOf,
  type TablesOf,
  type WatchedTables,
} from "../../../ground/store/core/index.ts";

const refreshCells = {
  dynamic_table_statuses: {
    status: "text",
  },
  dynamic_tables: {
    dynamic_table: "text",
    table_id: "number",
    schema_name: "text",
    name: "text",
    definition: "text",
    target_lag_ms: "number?",
    mode_wish: ["AUTO", "FULL", "INCREMENTAL"],
    mode: ["FULL", "INCREMENTAL"],
    mode_reason: "text",
    is_volatile: "number",
    status: ["INITIALIZING", "ACTIVE", "SUSPENDED", "FAILED"],
    status_reason: "text",
    suspended_by: "text?",
    wait_reason: "text",
    data_snapshot: "number?",
    data_time_ms: "number?",
    published_snapshot: "number?",
    target_snapshot: "number?",
    requested_at_ms: "number?",
    late_since_ms: "number?",
    lag_missed_count: "number",
    failures_in_a_row: "number",
    last_error: "text?",
    last_refresh_state: ["SUCCEEDED", "FAILED", "CANCELLED", null],
    last_refresh_action: ["FULL", "INCREMENTAL", "NO_DATA", null],
    last_refresh_at_ms: "number?",
    part_count: "number",
    part_done_count: "number",
    expected_duration_ms: "number",
    created_at_ms: "number",
    expected_response_ms: "number",
    failing_since_ms: "number?",
    retry_at_ms: "number?",
    retry_changed_at_ms: "number?",
    missing_path: "text?",
  },
  dynamic_table_sources: {
    table_id: "number",
    source_table_id: "number",
    cursor_snapshot: "number?",
    failed_snapshot: "number?",
  },
  dynamic_table_columns: {
    table_id: "number",
    source_table_id: "number",
    column_order: "number",
    column_name: "text",
  },
  dynamic_table_versions: {
    table_id: "number",
    data_snapshot: "number",
    snapshot: "number",
  },
  pending_refreshes: {
    dynamic_table: "text",
    table_id: "number",
    next_refresh_due_ms: "number",
    priority: "number",
    refresh_trigger: ["SCHEDULED", "MANUAL", "INITIAL", "DOWNSTREAM"],
    attempts: "number",
    losses: "number",
    not_before_ms: "number",
    request_seq: "number",
    target_seq: "number",
    done_seq: "number",
    target_snapshot: "number?",
    target_time_ms: "number?",
    ready_at_ms: "number?",
  },
  queued_refreshes: {
    table_id: "number",
    target_snapshot: "number",
    target_time_ms: "number",
    next_refresh_due_ms: "number",
    priority: "number",
    refresh_trigger: ["SCHEDULED", "MANUAL", "INITIAL", "DOWNSTREAM"],
    target_seq: "number",
  },
  refresh_claims: {
    dynamic_table: "text",
    worker_id: "text",
    token: "number",
    attempt: "number",
    claimed_at_ms: "number",
    heartbeat_at_ms: "number",
    expires_at_ms: "number",
  },
  refresh_subtasks: {
    refresh_token: "number",
    part: "number",
    ability: "text",
    spec: "text",
    state: ["WAITING", "CLAIMED", "DONE", "FAILED"],
    worker_id: "text?",
    token: "number?",
    attempts: "number",
    expires_at_ms: "number?",
    result: "text?",
    error_code: "text?",
    error_message: "text?",
    missing_path: "text?",
  },
  refresh_fence: {
    id: "number",
    fence: "number",
  },
  refresh_history: {
    dynamic_table: "text",
    refresh_number: "number",
    table_id: "number",
    token: "number",
    state: ["SUCCEEDED", "FAILED", "CANCELLED"],
    action: ["FULL", "INCREMENTAL", "NO_DATA", null],
    refresh_trigger: ["SCHEDULED", "MANUAL", "INITIAL", "DOWNSTREAM"],
    attempt: "number",
    started_at_ms: "number",
    ended_at_ms: "number",
    source_snapshot: "number?",
    data_time_ms: "number?",
    snapshot: "number?",
    rows_inserted: "number",
    rows_deleted: "number",
    reason: "text",
    compute_ms: "number?",
    changed_rows: "number?",
    total_rows: "number?",
    part_count: "number",
    worker_count: "number",
    worker_id: "text",
    error_code: "text?",
    error_message: "text?",
    repeats: "number",
  },
} as const;

type RefreshTables = TablesOf<typeof refreshCells>;
export type DynamicTablesTable = RefreshTables["dynamic_tables"];
export type PendingRefreshesTable = RefreshTables["pending_refreshes"];
export type RefreshHistoryTable = RefreshTables["refresh_history"];

declare module "../../../ground/store/core/schema.ts" {
  interface ControlSchema extends RefreshTables {}
  interface WatchedNames {
    dynamic_tables: true;
  }
}

export const refreshTableColumns = columnTypesOf(refreshCells);

export const watchedRefreshTables: WatchedTables = {
  dynamic_tables: { key: "dynamic_table", columns: refreshTableColumns.dynamic_tables },
};
