/** Tables as the coordinator's HTTP API sends them. Times are by the database's clock. */

export type TableKind = "plain" | "dynamic";

export interface LakeTable {
  readonly name: string;
  readonly schema: string;
  readonly table_id: number;
  readonly kind: TableKind;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly nullable: boolean;
    readonly default: string | null;
  }[];
  readonly row_count: number;
  readonly size_bytes: number;
  readonly file_count: number;
  readonly changed_snapshot: number;
  readonly readers: readonly string[];
}

export type RefreshState = "SUCCEEDED" | "FAILED" | "CANCELLED";
export type RefreshAction = "FULL" | "INCREMENTAL" | "NO_DATA";

export interface DynamicTable {
  readonly name: string;
  readonly schema: string;
  readonly table_id: number;
  readonly status: "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
  readonly status_reason: string;
  readonly wait_reason: string;
  readonly activity: "idle" | "queued" | "refreshing";
  readonly refreshed_by: string | null;
  readonly lag_ms: number | null;
  /** `null`: DOWNSTREAM. */
  readonly target_lag_ms: number | null;
  readonly effective_target_lag_ms: number | null;
  readonly late_since_ms: number | null;
  readonly lag_missed_count: number;
  readonly mode: "FULL" | "INCREMENTAL";
  readonly mode_wish: "AUTO" | "FULL" | "INCREMENTAL";
  readonly mode_reason: string;
  readonly is_volatile: boolean;
  readonly last_refresh: {
    readonly state: RefreshState;
    readonly action: RefreshAction | null;
    readonly at_ms: number;
  } | null;
  readonly last_error: string | null;
  readonly failures_in_a_row: number;
  readonly next_due_ms: number | null;
  readonly expected_duration_ms: number;
  readonly data_snapshot: number | null;
  readonly data_time_ms: number | null;
  readonly created_at_ms: number;
  readonly sources: readonly { readonly name: string; readonly kind: TableKind }[];
  readonly readers: readonly string[];
}

export interface DynamicTableDetail extends DynamicTable {
  readonly now_ms: number;
  readonly definition: string;
  readonly table: LakeTable | null;
}

export interface Refresh {
  readonly number: number;
  readonly state: RefreshState;
  readonly action: RefreshAction | null;
  readonly trigger: "SCHEDULED" | "MANUAL" | "INITIAL" | "DOWNSTREAM";
  readonly attempt: number;
  readonly repeats: number;
  readonly started_at_ms: number;
  readonly ended_at_ms: number;
  readonly data_time_ms: number | null;
  readonly source_snapshot: number | null;
  readonly snapshot: number | null;
  readonly rows_inserted: number;
  readonly rows_deleted: number;
  readonly reason: string;
  readonly part_count: number;
  readonly worker_count: number;
  readonly worker_id: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface LagSeries {
  readonly now_ms: number;
  readonly from_ms: number;
  readonly effective_target_lag_ms: number | null;
  readonly points: readonly {
    readonly at_ms: number;
    readonly lag_ms: number;
    readonly estimated: boolean;
  }[];
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly next_page_token: string | null;
}
