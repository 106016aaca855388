/**
 * The control store's tables as types. `sql/schema/*.sql` is their definition; a contract test compares the
 * two. Numbers are BIGINT or INTEGER columns within the safe range; flags are 0 or 1; times are `now_ms()`.
 */
import { type LakeTables, lakeTableColumns } from "./lake-schema.ts";
import { type LoadTables, loadTableColumns } from "./load-schema.ts";
import { type RefreshTables, refreshTableColumns } from "./refresh-schema.ts";

export interface WorkersTable {
  worker_id: string;
  host_name: string;
  grpc_port: number;
  data_port: number;
  capacity: number;
  state: "ACTIVE" | "UNREACHABLE";
  /** Why it is in this state, for people. */
  state_reason: string;
  state_changed_at_ms: number;
  /** 1: an operator asked for it to be drained. The worker's own wish to drain is in `draining`. */
  drain_requested: number;
  accepting_work: number;
  draining: number;
  incarnation: string;
  software_version: string;
  registered_at_ms: number;
}

/** The values that `workers.state` may have. */
export interface WorkerStatesTable {
  state: string;
}

export interface CoordinatorLeasesTable {
  name: string;
  holder: string;
  epoch: number;
  expires_at_ms: number;
  /** Where the holder's API is, so that a standby can say whom to ask. */
  api_url: string;
}

export interface CatalogChangesTable {
  revision: number;
  table_name: string;
  row_key: string;
  op: "CREATE" | "UPDATE" | "DROP";
  row_json: string;
  old_row_json: string | null;
  committed_at_ms: number;
}

export interface CatalogRevisionTable {
  /** Always 1: the table has one row. */
  id: number;
  revision: number;
  /** Changes up to and including this revision have been deleted from the log. */
  trimmed_revision: number;
}

/** One row per migration that was applied; the highest is the version of the schema. */
export interface SchemaVersionTable {
  version: number;
  applied_at_ms: number;
}

/** A segment of metrics: what `SegmentInfo` says, and the row's own times. */
export interface MetricSegmentsTable {
  segment_id: string;
  seq: number;
  level: number;
  min_ts: number;
  max_ts: number;
  shard_count: number;
  shard: number;
  series_count: number;
  sample_count: number;
  histogram_count: number;
  size_bytes: number;
  /** A JSON array; NULL: too many to list. */
  metric_names: string | null;
  path: string;
  seal_seq: number;
  created_at_ms: number;
  /** NULL: it is visible. */
  removed_at_ms: number | null;
  /** A JSON object, CRC-32 by file; NULL: not verified yet. */
  checksums: string | null;
  /** When upkeep last read its files whole. */
  checked_at_ms: number | null;
  /** What was found then; NULL: it is sound. */
  damage: string | null;
}

export interface MetricCatalogTable {
  /** Always 1: the table has one row. */
  id: number;
  version: number;
  next_seq: number;
}

export interface MetricsHeadTable {
  /** Always 1: the table has one row at most. */
  id: number;
  url: string;
  incarnation: string;
  lease_epoch: number;
}

export interface MaintenanceClaimsTable {
  task: string;
  holder: string;
  fence: number;
  expires_at_ms: number;
}

export interface ControlSchema extends LakeTables, LoadTables, RefreshTables {
  workers: WorkersTable;
  worker_states: WorkerStatesTable;
  coordinator_leases: CoordinatorLeasesTable;
  catalog_changes: CatalogChangesTable;
  catalog_revision: CatalogRevisionTable;
  schema_version: SchemaVersionTable;
  metric_segments: MetricSegmentsTable;
  metric_catalog: MetricCatalogTable;
  metrics_head: MetricsHeadTable;
  maintenance_claims: MaintenanceClaimsTable;
}

export type ColumnType = "text" | "number";

/** The columns at run time, for what the types alone cannot do: checking a WATCH, comparing with the database. */
export const tableColumns: {
  readonly [T in keyof ControlSchema]: { readonly [C in keyof ControlSchema[T]]: ColumnType };
} = {
  workers: {
    worker_id: "text",
    host_name: "text",
    grpc_port: "number",
    data_port: "number",
    capacity: "number",
    state: "text",
    state_reason: "text",
    state_changed_at_ms: "number",
    drain_requested: "number",
    accepting_work: "number",
    draining: "number",
    incarnation: "text",
    software_version: "text",
    registered_at_ms: "number",
  },
  worker_states: { state: "text" },
  coordinator_leases: {
    name: "text",
    holder: "text",
    epoch: "number",
    expires_at_ms: "number",
    api_url: "text",
  },
  catalog_changes: {
    revision: "number",
    table_name: "text",
    row_key: "text",
    op: "text",
    row_json: "text",
    old_row_json: "text",
    committed_at_ms: "number",
  },
  catalog_revision: { id: "number", revision: "number", trimmed_revision: "number" },
  schema_version: { version: "number", applied_at_ms: "number" },
  metric_segments: {
    segment_id: "text",
    seq: "number",
    level: "number",
    min_ts: "number",
    max_ts: "number",
    shard_count: "number",
    shard: "number",
    series_count: "number",
    sample_count: "number",
    histogram_count: "number",
    size_bytes: "number",
    metric_names: "text",
    path: "text",
    seal_seq: "number",
    created_at_ms: "number",
    removed_at_ms: "number",
    checksums: "text",
    checked_at_ms: "number",
    damage: "text",
  },
  metric_catalog: { id: "number", version: "number", next_seq: "number" },
  metrics_head: { id: "number", url: "text", incarnation: "text", lease_epoch: "number" },
  maintenance_claims: {
    task: "text",
    holder: "text",
    fence: "number",
    expires_at_ms: "number",
  },
  ...lakeTableColumns,
  ...loadTableColumns,
  ...refreshTableColumns,
};

/** Tables whose changes are logged, and the column that names a row. */
export const watchedTables = { workers: "worker_id", dynamic_tables: "dynamic_table" } as const;
export type WatchedTable = keyof typeof watchedTables;

export function isWatchedTable(name: string): name is WatchedTable {
  return Object.hasOwn(watchedTables, name);
}
