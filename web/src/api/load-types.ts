/**
 * Load tests, as the coordinator's API sends them. Names are the API's own, hence the underscores.
 */

export type RunStatus =
  | "PREPARED"
  | "RUNNING"
  | "STOPPING"
  | "CANCELLING"
  | "COMPLETED"
  | "FAILED"
  | "CANCELLED";

/** Empty while prepared. */
export type RunPhase = "" | "PREPARING" | "WARMUP" | "MEASUREMENT" | "COOLDOWN" | "PROCESSING";
export type LoadMode = "CONCURRENCY" | "QPS" | "FIND_MAX_CONCURRENCY";
export type WorkerHealth = "HEALTHY" | "STALE" | "DEAD";

export function isTerminal(status: RunStatus): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";
}

export interface TemplateSummary {
  readonly template_id: string;
  readonly template_name: string;
  readonly description: string;
  readonly is_built_in: boolean;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

export interface ListedTemplate extends TemplateSummary {
  readonly target_kind: string;
  readonly load_mode: LoadMode;
  readonly concurrent_connections: number;
  readonly target_qps: number | null;
  readonly duration_seconds: number;
  readonly operations: readonly string[];
}

export interface Template extends TemplateSummary {
  readonly config: {
    readonly target: {
      readonly url: string;
      readonly kind: string;
      readonly password_env: string | null;
      readonly allowed_hosts: readonly string[];
      readonly load_sql: readonly unknown[];
    };
  };
  /** Lists of values that are kept apart. */
  readonly pools: readonly { readonly pool: string; readonly value_count: number }[];
}

/** `path` is empty for the whole. */
export interface TemplateProblem {
  readonly path: string;
  readonly message: string;
}

export interface SloConfig {
  /** An operation's name, a kind of query, or `ALL`. */
  readonly of: string;
  readonly metric:
    | "p50"
    | "p95"
    | "p99"
    | "p999"
    | "max"
    | "avg"
    | "error_rate_pct"
    | "qps_min"
    | "availability_pct"
    | "longest_silence";
  readonly limit: number;
}

/** What a run was prepared with. Never a secret. */
export interface Scenario {
  readonly template_id: string | null;
  readonly template_name: string;
  readonly target: { readonly kind: string; readonly url: string };
  readonly workload: {
    readonly load_mode: LoadMode;
    readonly concurrent_connections: number;
    readonly target_qps: number | null;
    readonly duration_seconds: number;
    readonly warmup_seconds: number;
    readonly operations: readonly {
      readonly name: string;
      readonly kind: string;
      readonly weight: number;
    }[];
  };
  readonly scaling: { readonly mode: string };
  readonly guardrails: {
    readonly max_cpu_percent: number | null;
    readonly max_memory_percent: number | null;
    readonly max_error_rate_pct: number | null;
    readonly max_p99_latency_ms: number | null;
    readonly abort_on_slo: boolean;
  };
  readonly slos: readonly SloConfig[];
}

/** `/api/tests/{id}`. */
export interface LoadTest {
  readonly test_id: string;
  readonly test_name: string;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  readonly scenario_config: Scenario;
  readonly live: Omit<RunUpdate, "logs">;
}

/** The `data` of a RUN_UPDATE: the whole state, once a second. */
export interface RunUpdate {
  readonly test_id: string;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  readonly timestamp: string;
  readonly run: {
    readonly aggregate_metrics: AggregateMetrics;
    /** Which phase the figures are of. */
    readonly figures_phase: RunPhase;
  };
  readonly timing: {
    readonly elapsed_display_seconds: number;
    readonly phase_elapsed_seconds: number;
    readonly phase_duration_seconds: number | null;
  };
  readonly workers: readonly RunWorker[];
  readonly warehouse: ServerState | null;
  readonly find_max: FindMaxUpdate | null;
  readonly custom_metrics: {
    readonly app_ops_breakdown: Readonly<Record<string, OperationUpdate>>;
    readonly sf_bench: Readonly<Record<string, unknown>>;
    readonly resources: Partial<Resources>;
  };
  readonly cancellation_reason: string | null;
  /** What the target is asked about the queries after the end. */
  readonly enrichment_status: string | null;
  readonly warnings: readonly string[];
  readonly logs: readonly LogLine[];
}

export interface AggregateMetrics {
  readonly total_ops: number;
  readonly qps: number;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly max_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly error_rate: number;
  readonly total_errors: number;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  readonly active_connections: number;
  readonly target_connections: number;
  readonly read_count: number;
  readonly write_count: number;
  readonly target_qps: number | null;
  /** Arrivals without an answer; `null`: not known. */
  readonly unserved: number | null;
  /** Latencies that are at least so much. */
  readonly at_least: readonly string[];
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly resent_requests: number | null;
  readonly generator_frozen_ms: number | null;
  readonly skipped_arrivals: number | null;
}

export interface RunWorker {
  readonly worker_id: string;
  readonly status: string;
  readonly phase: RunPhase;
  readonly health: WorkerHealth;
  readonly last_heartbeat_ago_s: number;
  readonly host_name: string;
  readonly last_error: string | null;
  readonly metrics: {
    readonly qps: number;
    readonly p95_latency_ms: number | null;
    readonly error_count: number;
    readonly active_connections: number;
    readonly target_connections: number;
    readonly total_ops: number;
    readonly cpu_percent: number | null;
    readonly memory_percent: number | null;
    readonly event_loop_delay_ms: number | null;
    readonly schedule_lag_ms: number | null;
  };
}

export interface OperationUpdate {
  readonly operation: string;
  readonly query_kind: string;
  readonly ops: number;
  readonly errors: number;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  /** Latencies that are at least so much. */
  readonly at_least: readonly string[];
}

export interface ServerState {
  readonly name: string;
  readonly started_clusters: number | null;
  readonly running: number | null;
  readonly queued: number | null;
}

export interface FindMaxUpdate {
  readonly current_step: number;
  /** Connections of the step. */
  readonly target_workers: number;
  readonly baseline_p95_ms: number | null;
  readonly current_p95_ms: number | null;
  readonly p95_vs_baseline_pct: number | null;
  readonly qps: number | null;
  readonly qps_vs_prior_pct: number | null;
  readonly error_rate: number | null;
  readonly queue_detected: boolean;
  readonly status: string;
}

export interface FindMaxStep {
  readonly step_number: number;
  readonly total_target_connections: number;
  readonly qps: number | null;
  readonly p95_latency_ms: number | null;
  readonly error_rate: number | null;
  readonly qps_vs_prior_pct: number | null;
  readonly p95_vs_baseline_pct: number | null;
  readonly queue_detected: boolean;
  readonly outcome: string | null;
  readonly stop_reason: string | null;
}

interface Resources {
  readonly cpu_percent_peak: number | null;
  readonly memory_percent_peak: number | null;
  readonly schedule_lag_ms_peak: number | null;
  readonly event_loop_delay_ms_peak: number | null;
  readonly waiting: number;
  readonly dropped: number;
  /** Why the last second was the generator's and not the target's. */
  readonly generator_bound_reason: string | null;
}

export interface LogLine {
  readonly sequence: number;
  readonly level: string;
  readonly message: string;
  readonly worker_id: string | null;
  readonly timestamp: string;
}

/** A row of `/api/tests/{id}/metrics`. */
export interface RunSecond {
  readonly timestamp_ms: number;
  readonly phase: RunPhase;
  readonly qps: number;
  readonly active_connections: number;
  readonly target_connections: number;
  /** Of this second alone. */
  readonly interval_p50_ms: number | null;
  readonly interval_p95_ms: number | null;
  readonly interval_p99_ms: number | null;
}

/** A row of `/api/tests/{id}/worker-metrics`. */
export interface WorkerSecond {
  readonly timestamp_ms: number;
  readonly qps: number;
  readonly p95_latency_ms: number | null;
  readonly cpu_percent: number | null;
  readonly memory_percent: number | null;
  readonly active_connections: number;
  readonly error_count: number;
}
