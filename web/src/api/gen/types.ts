// Generated from /openapi.json by tools/web-types.ts. Do not edit.

export type AggregateMetrics = {
  readonly total_ops: number;
  readonly qps: number;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly error_rate: number;
  readonly total_errors: number;
  readonly active_connections: number;
  readonly target_connections: number;
  readonly read_count: number;
  readonly write_count: number;
  readonly p999_latency_ms: number | null;
  readonly max_latency_ms: number | null;
  readonly service_p50_ms: number | null;
  readonly service_p99_ms: number | null;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  readonly slowest_worker: {
    readonly p95_latency_ms: number | null;
    readonly p99_latency_ms: number | null;
  } | null;
  readonly target_qps: number | null;
  readonly min_latency_ms: number | null;
  /** Arrivals without an answer; null: not known. */
  readonly unserved: number | null;
  readonly percentiles_valid: boolean;
  /** Latencies of which only the least is known: arrivals without an answer are among them. */
  readonly at_least: readonly (LatencyName)[];
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly resent_requests: number | null;
  readonly generator_frozen_ms: number | null;
  readonly skipped_arrivals: number | null;
};

export type AttentionItem = {
  /** part, worker, dynamic_table, load_run, scrape_target, stream_query. */
  readonly kind: string;
  /** What the API calls it. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  readonly severity: "failed" | "degraded";
  /** In a word: failed, suspended, late, unreachable, degraded, down, unknown. */
  readonly state: string;
  readonly reason: string;
  readonly since_ms: number | null;
};

export type AttentionList = {
  readonly total: number;
  /** The first hundred, the worst first. */
  readonly items: readonly (AttentionItem)[];
};

export type ClusterStatus = {
  readonly version: string;
  readonly role: "leader" | "standby" | "query_api";
  /** Who coordinates, as far as this process knows. */
  readonly lease: {
    readonly holder: string;
    readonly epoch: number;
    readonly api_url: string;
  } | null;
  readonly store: {
    readonly dialect: string;
    readonly schema_version: number;
  } | null;
  readonly workers: {
    readonly active: number;
    readonly unreachable: number;
    readonly draining: number;
  };
  /** Of the answering process. */
  readonly queries: {
    readonly running: number;
    readonly queued: number;
    readonly completed_total: number;
    readonly failed_total: number;
    readonly oldest_age_ms: number;
  };
  /** Files of tables, and segments: as the scrub last found them. Null where this process has not looked yet, or does not. */
  readonly stored_files: {
    readonly damaged: number;
    readonly unverified: number;
  } | null;
  /** How the parts of the answering process are, by name. */
  readonly parts: readonly ({
    readonly name: string;
    readonly state: "ok" | "degraded" | "failed";
    /** Absent while it is ok. */
    readonly reason?: string;
    /** When the state began. */
    readonly since_ms: number;
    /** Whether nothing can be served here once it failed. */
    readonly vital: boolean;
  })[];
  readonly started_at_ms: number;
  readonly uptime_ms: number;
};

export type ComparisonVerdict = "IMPROVEMENT" | "NEUTRAL" | "INCONCLUSIVE" | "WARNING" | "REGRESSION";

export type DynamicTable = {
  readonly name: string;
  readonly schema: string;
  readonly table_id: number;
  readonly status: "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
  readonly status_reason: string;
  /** What it waits for, when something is wrong with that. */
  readonly wait_reason: string;
  readonly activity: "idle" | "queued" | "refreshing";
  /** The worker that refreshes it now. */
  readonly refreshed_by: string | null;
  /** null: it has no contents yet. */
  readonly lag_ms: number | null;
  /** null: DOWNSTREAM. */
  readonly target_lag_ms: number | null;
  /** Its own target, or for DOWNSTREAM the strictest of its readers'. */
  readonly effective_target_lag_ms: number | null;
  readonly late_since_ms: number | null;
  readonly lag_missed_count: number;
  readonly mode: "FULL" | "INCREMENTAL";
  readonly mode_wish: "AUTO" | "FULL" | "INCREMENTAL";
  readonly mode_reason: string;
  readonly is_volatile: boolean;
  readonly last_refresh: {
    readonly state: RefreshState;
    /** NO_DATA: its sources had not changed. */
    readonly action: "FULL" | "INCREMENTAL" | "NO_DATA" | null;
    /** Milliseconds since 1970, by the database's clock. */
    readonly at_ms: number;
  } | null;
  readonly last_error: string | null;
  readonly failures_in_a_row: number;
  /** null: only when its readers need it. */
  readonly next_due_ms: number | null;
  readonly expected_duration_ms: number;
  readonly data_snapshot: number | null;
  readonly data_time_ms: number | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
  readonly sources: readonly ({
    readonly name: string;
    readonly kind: TableKind;
  })[];
  readonly readers: readonly (string)[];
};

export type DynamicTableDetail = {
  readonly name: string;
  readonly schema: string;
  readonly table_id: number;
  readonly status: "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
  readonly status_reason: string;
  /** What it waits for, when something is wrong with that. */
  readonly wait_reason: string;
  readonly activity: "idle" | "queued" | "refreshing";
  /** The worker that refreshes it now. */
  readonly refreshed_by: string | null;
  /** null: it has no contents yet. */
  readonly lag_ms: number | null;
  /** null: DOWNSTREAM. */
  readonly target_lag_ms: number | null;
  /** Its own target, or for DOWNSTREAM the strictest of its readers'. */
  readonly effective_target_lag_ms: number | null;
  readonly late_since_ms: number | null;
  readonly lag_missed_count: number;
  readonly mode: "FULL" | "INCREMENTAL";
  readonly mode_wish: "AUTO" | "FULL" | "INCREMENTAL";
  readonly mode_reason: string;
  readonly is_volatile: boolean;
  readonly last_refresh: {
    readonly state: RefreshState;
    /** NO_DATA: its sources had not changed. */
    readonly action: "FULL" | "INCREMENTAL" | "NO_DATA" | null;
    /** Milliseconds since 1970, by the database's clock. */
    readonly at_ms: number;
  } | null;
  readonly last_error: string | null;
  readonly failures_in_a_row: number;
  /** null: only when its readers need it. */
  readonly next_due_ms: number | null;
  readonly expected_duration_ms: number;
  readonly data_snapshot: number | null;
  readonly data_time_ms: number | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
  readonly sources: readonly ({
    readonly name: string;
    readonly kind: TableKind;
  })[];
  readonly readers: readonly (string)[];
  /** Milliseconds since 1970, by the database's clock. */
  readonly now_ms: number;
  readonly definition: string;
  /** Its columns and size; null while it is being dropped. */
  readonly table: LakeTable | null;
};

export type EnrichmentState = {
  readonly enrichment_status: EnrichmentStatus | null;
  readonly enrichment_ratio: number | null;
  readonly enrichment_error: string | null;
  readonly app_overhead_p50_ms: number | null;
  readonly app_overhead_p95_ms: number | null;
  readonly app_overhead_p99_ms: number | null;
  readonly statements: readonly ({
    readonly text: string;
    readonly calls: number;
    readonly totalMs: number;
    readonly rows: number;
  })[];
};

/** Whether the target was asked about the queries. */
export type EnrichmentStatus = "PENDING" | "RUNNING" | "COMPLETED" | "FAILED" | "SKIPPED" | "AGGREGATE";

export type ErrorSummary = {
  readonly total_errors: number;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  readonly by_operation: readonly ({
    readonly operation: string;
    readonly error_count: number;
  })[];
  readonly messages: readonly ({
    readonly error_kind: string;
    readonly error_message: string | null;
    readonly count: number;
  })[];
};

export type ExactLatency = {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly avg_ms: number;
  readonly max_ms: number;
};

/** From the records of single operations: exact. */
export type FinalFigures = {
  /** The share of operations that has records; null: there were none. */
  readonly coverage: number | null;
  readonly latency: ExactLatency | null;
  readonly by_operation: readonly ({
    readonly operation: string;
    /** The share of operations that has records; null: there were none. */
    readonly coverage: number | null;
    readonly latency: ExactLatency | null;
  })[];
  readonly heat_map: HeatMap;
};

export type FindMaxStep = {
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
};

export type FindMaxUpdate = {
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
  readonly last_updated: string;
};

export type HeatCell = {
  readonly at_seconds: number;
  readonly low_ms: number;
  readonly high_ms: number;
  readonly count: number;
};

export type HeatMap = {
  readonly start_ms: number | null;
  readonly bucket_seconds: number;
  readonly cells: readonly (HeatCell)[];
};

export type LagSeries = {
  /** Milliseconds since 1970, by the database's clock. */
  readonly now_ms: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly from_ms: number;
  /** As it is now. */
  readonly effective_target_lag_ms: number | null;
  /** Straight lines between them; two points at one moment are a publication. Estimated: within a run of refreshes that found nothing to do. */
  readonly points: readonly ({
    /** Milliseconds since 1970, by the database's clock. */
    readonly at_ms: number;
    readonly lag_ms: number;
    readonly estimated: boolean;
  })[];
};

export type LakeTable = {
  /** As statements name it; with its schema where that is not main. */
  readonly name: string;
  readonly schema: string;
  readonly table_id: number;
  readonly kind: TableKind;
  readonly columns: readonly ({
    readonly name: string;
    /** As DuckDB writes it. */
    readonly type: string;
    readonly nullable: boolean;
    readonly default: string | null;
  })[];
  readonly row_count: number;
  readonly size_bytes: number;
  readonly file_count: number;
  /** The commit that last changed its files or columns. */
  readonly changed_snapshot: number;
  /** The dynamic tables that read it. */
  readonly readers: readonly (string)[];
};

export type LatencyName = "p50_latency_ms" | "p90_latency_ms" | "p95_latency_ms" | "p99_latency_ms" | "p999_latency_ms" | "avg_latency_ms" | "min_latency_ms" | "max_latency_ms";

export type LatencySummary = {
  readonly p50_latency_ms: number | null;
  readonly p90_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly min_latency_ms: number | null;
  readonly max_latency_ms: number | null;
};

export type ListedTemplate = {
  readonly template_id: string;
  readonly template_name: string;
  readonly description: string;
  readonly is_built_in: boolean;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  readonly target_kind: string;
  readonly load_mode: LoadMode;
  readonly concurrent_connections: number;
  readonly target_qps: number | null;
  readonly duration_seconds: number;
  readonly operations: readonly (string)[];
};

export type LiveCheckpoint = {
  readonly checkpoint: number;
  readonly epoch: number;
  readonly begun_at_ms: number;
  readonly duration_ms: number;
  readonly bytes: number;
  readonly savepoint: boolean;
};

export type LiveEdge = {
  readonly from: string;
  readonly to: string;
  readonly rows_per_second: number | null;
  /** Sent, and not known to be taken; between workers that is told in steps of 128 KiB. */
  readonly backlog_bytes: number | null;
  readonly backpressure_ratio: number | null;
  /** Event time in milliseconds. */
  readonly watermark_ms: number | null;
  /** How far event time is behind the clock; null where it is no time of a clock. */
  readonly watermark_lag_ms: number | null;
};

export type LiveFragment = {
  readonly fragment: string;
  readonly worker_id: string;
  readonly state: "PENDING" | "REGISTERED" | "STARTED" | "RUNNING" | "STOPPED" | "TERMINATED" | "FAILED";
  readonly operators: readonly (string)[];
  readonly sources: readonly (string)[];
  readonly sinks: readonly (string)[];
  /** From sources and from other fragments, in this epoch. */
  readonly rows_in: number | null;
  /** To sinks and to other fragments, in this epoch. */
  readonly rows_out: number | null;
  readonly rows_in_per_second: number | null;
  readonly rows_out_per_second: number | null;
  /** From sources. */
  readonly bytes_in_per_second: number | null;
  /** To other fragments and to sinks. */
  readonly bytes_out_per_second: number | null;
  readonly late_rows: number | null;
  readonly malformed_rows: number | null;
  /** With its buffers and edges. */
  readonly state_bytes: number | null;
  /** Event time in milliseconds. */
  readonly watermark_ms: number | null;
  /** How far event time is behind the clock; null where it is no time of a clock. */
  readonly watermark_lag_ms: number | null;
  /** The share of time at work on its thread. */
  readonly busy_ratio: number | null;
  /** The share of time it waited for room behind it. */
  readonly backpressure_ratio: number | null;
  /** Milliseconds since 1970. */
  readonly told_at_ms: number | null;
};

/** The data of each `live` event. */
export type LiveFrame = {
  readonly status: ClusterStatus;
  readonly workers: readonly (Worker)[];
  readonly queries: readonly (QueryRecord)[];
  readonly attention: AttentionList;
};

export type LiveQuery = {
  readonly query_id: string;
  readonly epoch: number;
  readonly at_ms: number;
  /** Figures that are older than 5 s are null. */
  readonly fragments: readonly (LiveFragment)[];
  readonly edges: readonly (LiveEdge)[];
  /** Those that are kept, the newest first, at most 20. */
  readonly checkpoints: readonly (LiveCheckpoint)[];
  /** What holds the watermark of the sinks back; null without event time. */
  readonly held_back_by: {
    readonly fragment: string;
    readonly source: string | null;
    /** Event time in milliseconds. */
    readonly watermark_ms: number | null;
    readonly reason: string;
  } | null;
};

export type LoadMode = "CONCURRENCY" | "QPS" | "FIND_MAX_CONCURRENCY";

export type LoadResources = {
  readonly cpu_percent_avg: number | null;
  readonly cpu_percent_peak: number | null;
  readonly memory_percent_avg: number | null;
  readonly memory_percent_peak: number | null;
  readonly schedule_lag_ms_peak: number | null;
  readonly event_loop_delay_ms_peak: number | null;
  readonly waiting: number;
  readonly dropped: number;
  /** Why the last second shows the load generator's limit, not the target's. */
  readonly generator_bound_reason: string | null;
};

export type LogLine = {
  readonly sequence: number;
  readonly level: string;
  readonly message: string;
  readonly worker_id: string | null;
  readonly timestamp: string;
};

export type MetricDifference = {
  readonly metric: "qps" | "p50" | "p95" | "p99" | "error_rate_pct" | "unserved_pct" | "availability_pct";
  /** An operation's name, or ALL. */
  readonly of: string;
  readonly before: number | null;
  readonly after: number | null;
  /** Before and after. */
  readonly is_least: readonly [boolean, boolean];
  readonly change_pct: number | null;
  readonly interval_pct: readonly [number, number] | null;
  readonly p_value: number | null;
  readonly verdict: "better" | "same" | "slightly worse" | "worse" | "unsure";
};

export type Objective = {
  /** An operation's name, a kind of query, or ALL. */
  readonly of: string;
  readonly metric: "p50" | "p95" | "p99" | "p999" | "max" | "avg" | "error_rate_pct" | "qps_min" | "availability_pct" | "longest_silence";
  /** Milliseconds, percent, or operations a second. */
  readonly limit: number;
  readonly state: "MET" | "MISSED" | "NO_DATA";
  /** In the limit's unit; null: nothing was measured. */
  readonly value: number | null;
  readonly text: string;
};

export type OperationSummary = {
  readonly p50_latency_ms: number | null;
  readonly p90_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly min_latency_ms: number | null;
  readonly max_latency_ms: number | null;
  /** Latencies of which only the least is known: arrivals without an answer are among them. */
  readonly at_least: readonly (LatencyName)[];
  readonly operation: string;
  readonly query_kind: "POINT_LOOKUP" | "RANGE_SCAN" | "INSERT" | "UPDATE" | "DELETE" | "CUSTOM";
  readonly ops: number;
  readonly errors: number;
  readonly unserved: number | null;
  readonly qps: number;
};

export type OperationUpdate = {
  readonly operation: string;
  readonly query_kind: "POINT_LOOKUP" | "RANGE_SCAN" | "INSERT" | "UPDATE" | "DELETE" | "CUSTOM";
  readonly ops: number;
  readonly errors: number;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly unserved: number | null;
  /** Latencies of which only the least is known: arrivals without an answer are among them. */
  readonly at_least: readonly (LatencyName)[];
};

export type PhysicalSource = {
  readonly physical_source_id: string;
  readonly logical_source: string;
  readonly type: string;
  /** By key. Secrets are references. */
  readonly config: Readonly<Record<string, string | number | boolean>>;
  /** By key. Secrets are references. */
  readonly parser: Readonly<Record<string, string | number | boolean>>;
  /** Null: any worker may read it. */
  readonly worker_id: string | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
};

export type QueryExecution = {
  readonly execution_id: string;
  readonly worker_id: string;
  readonly connection_id: number;
  readonly operation: string;
  readonly start_ms: number;
  readonly app_elapsed_ms: number;
  readonly service_ms: number;
  readonly success: boolean;
  readonly error_kind: string | null;
  readonly error_message: string | null;
  readonly rows_affected: number;
  readonly warmup: boolean;
  readonly sf_query_id: string | null;
};

export type QueryRecord = {
  readonly query_id: string;
  readonly kind: string;
  readonly text: string;
  readonly state: QueryState;
  readonly started_at_ms: number;
  readonly duration_ms: number;
  readonly row_count: number | null;
  readonly worker_id: string | null;
  readonly attempts: number;
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
};

export type QueryState = "queued" | "running" | "done" | "failed" | "cancelled";

export type Refresh = {
  /** From 1 on, for each table. */
  readonly number: number;
  readonly state: RefreshState;
  /** NO_DATA: its sources had not changed. */
  readonly action: "FULL" | "INCREMENTAL" | "NO_DATA" | null;
  readonly trigger: "SCHEDULED" | "MANUAL" | "INITIAL" | "DOWNSTREAM";
  readonly attempt: number;
  /** So many refreshes in a row found nothing to do. */
  readonly repeats: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly started_at_ms: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly ended_at_ms: number;
  readonly data_time_ms: number | null;
  readonly source_snapshot: number | null;
  /** The lake's snapshot that has the result. */
  readonly snapshot: number | null;
  readonly rows_inserted: number;
  readonly rows_deleted: number;
  /** Why it was done this way. */
  readonly reason: string;
  /** In how many parts it was computed. */
  readonly part_count: number;
  /** By how many workers. */
  readonly worker_count: number;
  /** null: no worker was needed. */
  readonly worker_id: string | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
};

export type RefreshState = "SUCCEEDED" | "FAILED" | "CANCELLED";

export type ReportStep = {
  readonly step_number: number;
  readonly connections: number;
  readonly qps: number;
  readonly p95_latency_ms: number | null;
  readonly error_rate_pct: number;
  readonly outcome: string | null;
  readonly reason: string;
};

export type RunComparison = {
  readonly base_run_id: string;
  readonly run_id: string;
  readonly verdict: ComparisonVerdict;
  readonly reasons: readonly (string)[];
  readonly metrics: readonly (MetricDifference)[];
  readonly configuration: readonly ({
    readonly path: string;
    readonly before?: unknown;
    readonly after?: unknown;
  })[];
};

export type RunMetrics = {
  readonly items: readonly (RunSecond)[];
  readonly warehouse: readonly (ServerPoll)[];
};

/** Empty while prepared. */
export type RunPhase = "" | "PREPARING" | "WARMUP" | "MEASUREMENT" | "COOLDOWN" | "PROCESSING";

export type RunSecond = {
  readonly timestamp_ms: number;
  readonly elapsed_seconds: number;
  readonly phase: RunPhase;
  readonly qps: number;
  /** Of the phase so far. */
  readonly error_count: number;
  readonly active_connections: number;
  readonly target_connections: number;
  /** Of this second alone, as the other intervals. */
  readonly interval_p50_ms: number | null;
  readonly interval_p95_ms: number | null;
  readonly interval_p99_ms: number | null;
};

export type RunStatus = "PREPARED" | "RUNNING" | "STOPPING" | "CANCELLING" | "COMPLETED" | "FAILED" | "CANCELLED";

/** The run's final record. */
export type RunSummary = {
  readonly p50_latency_ms: number | null;
  readonly p90_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly min_latency_ms: number | null;
  readonly max_latency_ms: number | null;
  /** Latencies of which only the least is known: arrivals without an answer are among them. */
  readonly at_least: readonly (LatencyName)[];
  readonly verdict: "PASSED" | "FAILED" | null;
  /** Why it failed. */
  readonly reasons: readonly (string)[];
  /** Limits that the template sets otherwise than by default. */
  readonly allowances: readonly (string)[];
  readonly generator_bound: boolean;
  readonly percentiles_from: "records" | "histograms";
  readonly unserved: number | null;
  readonly unserved_pct: number | null;
  readonly resent_requests: number | null;
  /** How long the load generator did not run; null: not known. */
  readonly generator_frozen_ms: number | null;
  readonly skipped_arrivals: number | null;
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly failed_latency: LatencySummary | null;
  readonly measured_seconds: number;
  readonly worker_count: number;
  readonly total_operations: number;
  readonly failed_operations: number;
  readonly error_rate_pct: number;
  readonly qps: number;
  readonly operations: readonly (OperationSummary)[];
  readonly slos: readonly (Objective)[];
  readonly find_max: {
    readonly max_concurrency: number;
    readonly true_max: boolean;
    readonly qps: number;
    readonly p95_latency_ms: number;
    readonly reason: string;
    /** The maximum lies between low and high; older runs lack both. */
    readonly low?: number | null;
    readonly high?: number | null;
  } | null;
  readonly find_max_steps: readonly (ReportStep)[];
  readonly warnings: readonly (string)[];
};

/** The data of a RUN_UPDATE of /ws/test/{id}: the whole state, once a second. */
export type RunUpdate = {
  readonly test_id: string;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  readonly timestamp: string;
  readonly run: {
    readonly run_id: string;
    readonly status: RunStatus;
    readonly phase: RunPhase;
    readonly worker_count: number;
    readonly elapsed_seconds: number;
    readonly timing: {
      readonly elapsed_display_seconds: number;
    };
    readonly aggregate_metrics: AggregateMetrics;
    /** The phase that the figures are of. */
    readonly figures_phase: RunPhase;
  };
  readonly timing: {
    readonly elapsed_display_seconds: number;
    readonly phase_elapsed_seconds: number;
    readonly phase_duration_seconds: number | null;
  };
  readonly latency_aggregation_method: "merged_histogram" | null;
  readonly workers: readonly (RunWorker)[];
  readonly ops: {
    readonly total: number;
    readonly current_per_sec: number;
  };
  readonly operations: {
    readonly reads: number;
    readonly writes: number;
  };
  readonly latency: {
    readonly p50: number | null;
    readonly p95: number | null;
    readonly p99: number | null;
    readonly avg: number | null;
  };
  readonly errors: {
    readonly count: number;
    readonly rate: number;
  };
  readonly connections: {
    readonly active: number;
    readonly target: number;
  };
  readonly warehouse: ServerState | null;
  readonly find_max: FindMaxUpdate | null;
  readonly custom_metrics: {
    readonly app_ops_breakdown: Readonly<Record<string, OperationUpdate>>;
    /** What the server said last, as it came. */
    readonly sf_bench: Readonly<Record<string, unknown>>;
    readonly resources: LoadResources;
  };
  readonly cancellation_reason: string | null;
  readonly enrichment_status: EnrichmentStatus | null;
  readonly warnings: readonly (string)[];
  readonly logs: readonly (LogLine)[];
  readonly verdict: {
    readonly verdict: "PASSED" | "FAILED" | null;
    readonly reasons: readonly (string)[];
    readonly has_broken_limits: boolean;
    readonly allowances: readonly (string)[];
  } | null;
};

export type RunWorker = {
  readonly worker_id: string;
  readonly worker_group_id: number;
  readonly status: "STARTING" | "READY" | "RUNNING" | "DRAINING" | "COMPLETED" | "FAILED" | "DEAD";
  readonly phase: RunPhase;
  readonly health: WorkerHealth;
  readonly last_heartbeat: string;
  readonly last_heartbeat_ago_s: number;
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
  readonly host_name: string;
  readonly last_error: string | null;
};

/** What a run was prepared with. Never a secret. */
export type Scenario = {
  readonly template_id: string | null;
  readonly template_name: string;
  readonly target: {
    readonly kind: "postgres" | "mysql" | "sqlite" | "duckdb" | "snowflake" | "http";
    /** Without a password. */
    readonly url: string;
    readonly password_env: string | null;
    readonly allowed_hosts: readonly (string)[];
    readonly load_sql: readonly (string)[];
    readonly reset_sql: readonly (string)[];
  };
  readonly workload: {
    readonly load_mode: LoadMode;
    readonly concurrent_connections: number;
    readonly target_qps: number | null;
    readonly duration_seconds: number;
    readonly warmup_seconds: number;
    readonly record_one_in: number;
    readonly operations: readonly ({
      readonly name: string;
      readonly kind: "POINT_LOOKUP" | "RANGE_SCAN" | "INSERT" | "UPDATE" | "DELETE" | "CUSTOM";
      readonly weight: number;
      readonly transaction: boolean;
      readonly statements: readonly (string)[];
    })[];
  };
  readonly scaling: {
    readonly mode: "AUTO" | "BOUNDED" | "FIXED";
  };
  readonly guardrails: {
    readonly max_cpu_percent: number | null;
    readonly max_memory_percent: number | null;
    readonly max_error_rate_pct: number | null;
    readonly max_p99_latency_ms: number | null;
    readonly abort_on_slo: boolean;
  };
  readonly slos: readonly (SloConfig)[];
};

export type ServerPoll = {
  readonly timestamp_ms: number;
  readonly elapsed_seconds: number | null;
  readonly warehouse_name: string;
  readonly running: number | null;
  readonly queued: number | null;
};

export type ServerState = {
  readonly name: string;
  readonly started_clusters: number | null;
  readonly running: number | null;
  readonly queued: number | null;
};

export type SloConfig = {
  /** An operation's name, a kind of query, or ALL. */
  readonly of: string;
  readonly metric: "p50" | "p95" | "p99" | "p999" | "max" | "avg" | "error_rate_pct" | "qps_min" | "availability_pct" | "longest_silence";
  /** Milliseconds, percent, or operations a second. */
  readonly limit: number;
};

export type StreamField = {
  readonly name: string;
  readonly type: {
    readonly name: "INT8" | "INT16" | "INT32" | "INT64" | "UINT8" | "UINT16" | "UINT32" | "UINT64" | "FLOAT32" | "FLOAT64" | "BOOLEAN" | "CHAR" | "VARSIZED";
    readonly nullable: boolean;
  };
};

export type StreamFragmentState = "PENDING" | "REGISTERED" | "STARTED" | "RUNNING" | "STOPPED" | "TERMINATED" | "FAILED";

export type StreamQuery = {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: StreamQueryState;
  /** Some fragments run and others do not yet; or a stop waits for a lost worker. */
  readonly detail: "PARTIALLY_DEPLOYED" | "STOPPING_STUCK" | null;
  readonly state_reason: string;
  readonly desired_state: "RUNNING" | "PAUSED" | "STOPPED";
  readonly stop_mode: "SOFT" | "HARD" | null;
  /** Increases with each deployment. */
  readonly epoch: number;
  /** The query that has its name, and begins when this one is gone. */
  readonly superseded_by: string | null;
  readonly guarantee: string;
  /** It shows rows to somebody, and is gone when nobody looks. */
  readonly is_preview: boolean;
  readonly error: {
    readonly code: string;
    readonly number: number | null;
    readonly worker_id: string | null;
  } | null;
  /** How many are in each state. */
  readonly fragments: Readonly<Record<string, number>>;
  readonly statement: string;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly state_changed_at_ms: number;
};

export type StreamQueryDetail = {
  readonly query_id: string;
  readonly name: string | null;
  readonly state: StreamQueryState;
  /** Some fragments run and others do not yet; or a stop waits for a lost worker. */
  readonly detail: "PARTIALLY_DEPLOYED" | "STOPPING_STUCK" | null;
  readonly state_reason: string;
  readonly desired_state: "RUNNING" | "PAUSED" | "STOPPED";
  readonly stop_mode: "SOFT" | "HARD" | null;
  /** Increases with each deployment. */
  readonly epoch: number;
  /** The query that has its name, and begins when this one is gone. */
  readonly superseded_by: string | null;
  readonly guarantee: string;
  /** It shows rows to somebody, and is gone when nobody looks. */
  readonly is_preview: boolean;
  readonly error: {
    readonly code: string;
    readonly number: number | null;
    readonly worker_id: string | null;
  } | null;
  /** How many are in each state. */
  readonly fragments: Readonly<Record<string, number>>;
  readonly statement: string;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly state_changed_at_ms: number;
  readonly logical_sources: readonly (string)[];
  /** Those that there were when it was planned. */
  readonly physical_sources: readonly (string)[];
  readonly sinks: readonly (string)[];
  readonly deployed: readonly ({
    readonly fragment: string;
    readonly worker_id: string;
    readonly is_pinned: boolean;
    readonly epoch: number;
    readonly state: StreamFragmentState;
    readonly state_reason: string;
    /** Milliseconds since 1970, by the database's clock. */
    readonly state_changed_at_ms: number;
  })[];
  /** State changes, the newest last. */
  readonly history: readonly ({
    readonly number: number;
    readonly epoch: number;
    readonly from_state: string;
    readonly to_state: StreamQueryState | null;
    readonly reason: string;
    /** Milliseconds since 1970, by the database's clock. */
    readonly at_ms: number;
  })[];
};

export type StreamQueryState = "PENDING" | "DEPLOYING" | "RUNNING" | "PAUSED" | "STOPPING" | "STOPPED" | "TERMINATING" | "TERMINATED" | "FAILED";

export type StreamSink = {
  readonly sink_id: string;
  readonly name: string;
  /** Null: it takes whatever a query gives. */
  readonly schema: readonly (StreamField)[] | null;
  readonly type: string;
  /** By key. Secrets are references. */
  readonly config: Readonly<Record<string, string | number | boolean>>;
  /** By key. Secrets are references. */
  readonly formatter: Readonly<Record<string, string | number | boolean>>;
  readonly worker_id: string | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
};

export type StreamSnapshot = {
  /** Of the catalog; WATCH goes on from it. */
  readonly revision: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly now_ms: number;
  readonly sources?: readonly (StreamSource)[];
  readonly views?: readonly (StreamSource)[];
  readonly physical_sources?: readonly (PhysicalSource)[];
  readonly sinks?: readonly (StreamSink)[];
  readonly queries?: readonly (StreamQuery)[];
  readonly workers?: readonly (StreamWorker)[];
};

export type StreamSource = {
  readonly source_id: string;
  readonly name: string;
  readonly kind: "LOGICAL" | "DERIVED" | "VIEW" | "SYSTEM";
  readonly schema: readonly (StreamField)[];
  readonly watermark: {
    readonly column: number;
    readonly boundMs: number;
  } | null;
  /** The query of a derived source or a view. */
  readonly definition: string | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly created_at_ms: number;
};

export type StreamWorker = {
  readonly worker_id: string;
  /** The name that CREATE WORKER gave it. */
  readonly label: string | null;
  readonly host: string;
  readonly grpc_port: number;
  readonly data_port: number;
  readonly state: "ACTIVE" | "UNREACHABLE";
  readonly state_reason: string;
  readonly draining: boolean;
  readonly slots: number;
  readonly slots_used: number;
  /** The workers that it sends to; without any, it reaches all. */
  readonly peers: readonly (string)[];
};

export type TableKind = "plain" | "dynamic";

export type Template = {
  readonly template_id: string;
  readonly template_name: string;
  readonly description: string;
  readonly is_built_in: boolean;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  /** The template itself. */
  readonly config: {
    readonly target: {
      readonly kind: "postgres" | "mysql" | "sqlite" | "duckdb" | "snowflake" | "http";
      /** Without a password. */
      readonly url: string;
      readonly password_env: string | null;
      readonly allowed_hosts: readonly (string)[];
      readonly load_sql: readonly (unknown)[];
    };
  };
  readonly pools: readonly ({
    readonly pool: string;
    readonly value_count: number;
  })[];
};

export type TemplateProblem = {
  /** Empty for the whole. */
  readonly path: string;
  readonly message: string;
};

export type TestDetail = {
  readonly test_id: string;
  readonly run_id: string;
  readonly test_name: string;
  readonly template_id: string | null;
  readonly template_name: string;
  readonly worker_id: string | null;
  readonly status: RunStatus;
  readonly target_kind: string;
  readonly table_name: string;
  readonly load_mode: LoadMode;
  readonly concurrent_connections: number;
  readonly start_time_ms: number | null;
  readonly end_time_ms: number | null;
  readonly created_at_ms: number;
  readonly duration_seconds: number | null;
  readonly total_operations: number;
  readonly failed_operations: number;
  readonly unserved: number | null;
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly verdict: "PASSED" | "FAILED" | null;
  readonly qps: number | null;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly percentiles_valid: boolean;
  readonly generator_bound: boolean;
  readonly cancellation_reason: string | null;
  readonly slo_result: readonly (Objective)[] | null;
  readonly enrichment_status: EnrichmentStatus | null;
  readonly phase: RunPhase;
  readonly stop_reason: string | null;
  readonly figures: Readonly<Record<string, unknown>>;
  readonly scenario_config: Scenario;
  readonly children: readonly (TestResult)[];
  /** The newest RUN_UPDATE, without its log lines. */
  readonly live: {
    readonly test_id: string;
    readonly status: RunStatus;
    readonly phase: RunPhase;
    readonly timestamp: string;
    readonly run: {
      readonly run_id: string;
      readonly status: RunStatus;
      readonly phase: RunPhase;
      readonly worker_count: number;
      readonly elapsed_seconds: number;
      readonly timing: {
        readonly elapsed_display_seconds: number;
      };
      readonly aggregate_metrics: AggregateMetrics;
      /** The phase that the figures are of. */
      readonly figures_phase: RunPhase;
    };
    readonly timing: {
      readonly elapsed_display_seconds: number;
      readonly phase_elapsed_seconds: number;
      readonly phase_duration_seconds: number | null;
    };
    readonly latency_aggregation_method: "merged_histogram" | null;
    readonly workers: readonly (RunWorker)[];
    readonly ops: {
      readonly total: number;
      readonly current_per_sec: number;
    };
    readonly operations: {
      readonly reads: number;
      readonly writes: number;
    };
    readonly latency: {
      readonly p50: number | null;
      readonly p95: number | null;
      readonly p99: number | null;
      readonly avg: number | null;
    };
    readonly errors: {
      readonly count: number;
      readonly rate: number;
    };
    readonly connections: {
      readonly active: number;
      readonly target: number;
    };
    readonly warehouse: ServerState | null;
    readonly find_max: FindMaxUpdate | null;
    readonly custom_metrics: {
      readonly app_ops_breakdown: Readonly<Record<string, OperationUpdate>>;
      /** What the server said last, as it came. */
      readonly sf_bench: Readonly<Record<string, unknown>>;
      readonly resources: LoadResources;
    };
    readonly cancellation_reason: string | null;
    readonly enrichment_status: EnrichmentStatus | null;
    readonly warnings: readonly (string)[];
    readonly verdict: {
      readonly verdict: "PASSED" | "FAILED" | null;
      readonly reasons: readonly (string)[];
      readonly has_broken_limits: boolean;
      readonly allowances: readonly (string)[];
    } | null;
  };
};

/** A run, or one worker's share of it. */
export type TestResult = {
  readonly test_id: string;
  readonly run_id: string;
  readonly test_name: string;
  readonly template_id: string | null;
  readonly template_name: string;
  readonly worker_id: string | null;
  readonly status: RunStatus;
  readonly target_kind: string;
  readonly table_name: string;
  readonly load_mode: LoadMode;
  readonly concurrent_connections: number;
  readonly start_time_ms: number | null;
  readonly end_time_ms: number | null;
  readonly created_at_ms: number;
  readonly duration_seconds: number | null;
  readonly total_operations: number;
  readonly failed_operations: number;
  readonly unserved: number | null;
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly verdict: "PASSED" | "FAILED" | null;
  readonly qps: number | null;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly percentiles_valid: boolean;
  readonly generator_bound: boolean;
  readonly cancellation_reason: string | null;
  readonly slo_result: readonly (Objective)[] | null;
  readonly enrichment_status: EnrichmentStatus | null;
};

/** The data of each event. */
export type WatchMessage = {
  readonly type: "SNAPSHOT";
  readonly revision: number;
  readonly data: readonly (Readonly<Record<string, unknown>>)[];
} | {
  readonly type: "EVENT";
  readonly op: "CREATE" | "UPDATE" | "DROP";
  readonly key: string;
  readonly revision: number;
  /** A row, by column. */
  readonly data?: Readonly<Record<string, unknown>>;
};

export type Worker = {
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
  readonly live: {
    readonly session: boolean;
    readonly rtt_ms: number | null;
    readonly last_answer_ms_ago: number | null;
    readonly facts: Readonly<Record<string, string>>;
  } | null;
};

export type WorkerHealth = "HEALTHY" | "STALE" | "DEAD";

export type WorkerSecond = {
  readonly timestamp_ms: number;
  readonly worker_id: string;
  readonly qps: number;
  readonly error_count: number;
  readonly p95_latency_ms: number | null;
  readonly cpu_percent: number | null;
  readonly memory_percent: number | null;
  readonly active_connections: number;
  readonly custom_metrics: {
    readonly health?: {
      readonly event_loop_delay_ms_p99: number;
    };
  };
};
