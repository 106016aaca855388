/** The shapes that the coordinator's HTTP API sends. Names are the API's own, hence the underscores. */

export interface ClusterStatus {
  readonly version: string;
  readonly role: "leader" | "standby" | "query_api";
  readonly lease: {
    readonly holder: string;
    readonly epoch: number;
    readonly api_url: string;
  } | null;
  /** Absent where the answering process has no control store of its own. */
  readonly store: { readonly dialect: string; readonly schema_version: number } | null;
  readonly workers: {
    readonly active: number;
    readonly unreachable: number;
    readonly draining: number;
  };
  readonly queries: {
    readonly running: number;
    readonly queued: number;
    readonly completed_total: number;
    readonly failed_total: number;
    readonly oldest_age_ms: number | null;
  };
  readonly started_at_ms: number;
  readonly uptime_ms: number;
}

/** A row of the workers table, as the store has it. */
export interface WorkerRow {
  readonly worker_id: string;
  readonly host_name: string;
  readonly grpc_port: number;
  readonly data_port: number;
  readonly capacity: number;
  readonly state: "ACTIVE" | "UNREACHABLE";
  readonly state_reason: string;
  readonly state_changed_at_ms: number;
  readonly drain_requested: boolean;
  readonly accepting_work: boolean;
  readonly draining: boolean;
  readonly incarnation: string;
  readonly software_version: string;
  readonly registered_at_ms: number;
}

/** What the answering process sees of a worker through its own session. */
interface WorkerLive {
  readonly session: boolean;
  readonly rtt_ms: number | null;
  readonly last_answer_ms_ago: number | null;
  readonly facts: Readonly<Record<string, string>>;
}

export interface Worker extends WorkerRow {
  readonly live: WorkerLive | null;
}

export type QueryState = "queued" | "running" | "done" | "failed" | "cancelled";

export interface QueryRecord {
  readonly query_id: string;
  readonly kind: string;
  readonly text: string;
  readonly state: QueryState;
  readonly started_at_ms: number;
  readonly duration_ms: number;
  readonly row_count: number | null;
  readonly worker_id: string | null;
  readonly attempts: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Something that is wrong now. */
export interface AttentionItem {
  readonly kind: "part" | "worker" | "dynamic_table" | "load_run" | "scrape_target";
  readonly id: string;
  readonly name: string;
  readonly severity: "failed" | "degraded";
  readonly state: string;
  readonly reason: string;
  readonly since_ms: number | null;
}

export interface AttentionList {
  readonly total: number;
  readonly items: readonly AttentionItem[];
}

/** One frame of `/api/v1/live`, once a second. */
export interface LiveFrame {
  readonly status: ClusterStatus;
  readonly workers: readonly Worker[];
  readonly queries: readonly QueryRecord[];
  readonly attention: AttentionList;
}

/** One event of `/api/v1/watch?table=workers`. */
export type WatchEvent =
  | { readonly type: "SNAPSHOT"; readonly revision: number; readonly data: readonly WorkerRow[] }
  | {
      readonly type: "EVENT";
      readonly op: "CREATE" | "UPDATE" | "DROP";
      readonly key: string;
      readonly revision: number;
      readonly data?: WorkerRow;
    };
