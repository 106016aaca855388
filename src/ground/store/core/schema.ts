/**
 * The control store's tables as types. `sql/schema/*.sql` defines them, and a test compares the
 * two. Numbers are BIGINT or INTEGER columns within the safe range, flags are 0 or 1, and times are
 * `now_ms()`. Other rooms define their own tables and merge them into `ControlSchema`.
 */
import { type ColumnType, columnTypesOf, type TablesOf } from "./table-cells.ts";

const storeCells = {
  workers: {
    worker_id: "text",
    host_name: "text",
    grpc_port: "number",
    data_port: "number",
    capacity: "number",
    state: ["ACTIVE", "UNREACHABLE"],
    /** Why it is in this state, for people. */
    state_reason: "text",
    state_changed_at_ms: "number",
    /** 1 when an operator requested a drain. `draining` is the worker's own state. */
    drain_requested: "number",
    accepting_work: "number",
    draining: "number",
    incarnation: "text",
    software_version: "text",
    registered_at_ms: "number",
  },
  worker_states: {
    state: "text",
  },
  coordinator_leases: {
    name: "text",
    holder: "text",
    epoch: "number",
    expires_at_ms: "number",
    /** The holder's API address, for standbys to name. */
    api_url: "text",
  },
  catalog_changes: {
    revision: "number",
    table_name: "text",
    row_key: "text",
    op: ["CREATE", "UPDATE", "DROP"],
    row_json: "text",
    old_row_json: "text?",
    committed_at_ms: "number",
  },
  catalog_revision: {
    /** Always 1: the table has one row. */
    id: "number",
    revision: "number",
    /** Changes up to this revision, inclusive, were deleted from the log. */
    trimmed_revision: "number",
  },
  schema_version: {
    version: "number",
    applied_at_ms: "number",
  },
  upkeep_holds: {
    holder: "text",
    expires_at_ms: "number",
  },
} as const;

type StoreTables = TablesOf<typeof storeCells>;
export type WorkersTable = StoreTables["workers"];
export type CatalogChangesTable = StoreTables["catalog_changes"];

/** Every table. A room merges its own: `interface ControlSchema extends LakeTables {}`. */
export interface ControlSchema extends StoreTables {}

/** Names of tables whose changes are logged. A room merges its own. */
export interface WatchedNames {
  workers: true;
}
export type WatchedTable = keyof WatchedNames;

export const storeTableColumns = columnTypesOf(storeCells);

/** Tables whose changes are logged, by name. */
export type WatchedTables = Readonly<Record<string, WatchedColumns>>;

export interface WatchedColumns {
  /** The column that identifies a row. */
  readonly key: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
}

export const ownWatchedTables: WatchedTables = {
  workers: { key: "worker_id", columns: storeTableColumns.workers },
};

export function watchedColumns(watched: WatchedTables, table: string): WatchedColumns | undefined {
  return Object.hasOwn(watched, table) ? watched[table] : undefined;
}
