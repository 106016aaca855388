/**
 * The control store's tables as types. `sql/schema/*.sql` is their definition; a test compares the
 * two. Numbers are BIGINT or INTEGER columns within the safe range; flags are 0 or 1; times are
 * `now_ms()`. Those of other rooms lie with them, and are merged into `ControlSchema` there.
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
    /** 1: an operator asked for it to be drained. The worker's own wish to drain is in `draining`. */
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
    /** Where the holder's API is, so that a standby can say whom to ask. */
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
    /** Changes up to and including this revision have been deleted from the log. */
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

/** Every table. A room merges its own into it: `interface ControlSchema extends LakeTables {}`. */
export interface ControlSchema extends StoreTables {}

/** Names of tables whose changes are logged. A room merges its own into it. */
export interface WatchedNames {
  workers: true;
}
export type WatchedTable = keyof WatchedNames;

export const storeTableColumns = columnTypesOf(storeCells);

/** By name: tables whose changes are logged. */
export type WatchedTables = Readonly<Record<string, WatchedColumns>>;

export interface WatchedColumns {
  /** The column that names a row. */
  readonly key: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
}

export const ownWatchedTables: WatchedTables = {
  workers: { key: "worker_id", columns: storeTableColumns.workers },
};

export function watchedColumns(watched: WatchedTables, table: string): WatchedColumns | undefined {
  return Object.hasOwn(watched, table) ? watched[table] : undefined;
}
