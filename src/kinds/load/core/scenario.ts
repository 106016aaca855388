/**
 * A load test's configuration: what `SCENARIO_CONFIG` of the specification is, field by field, and
 * what it leaves open. A template's `config` is one of these; a run has a copy of it, which nothing
 * changes. `parseScenario` makes it of what people write.
 */

import type { QueryKind } from "./operation.ts";

export const loadModes = ["CONCURRENCY", "QPS", "FIND_MAX_CONCURRENCY"] as const;
export type LoadMode = (typeof loadModes)[number];
export const targetKinds = ["postgres", "mysql", "sqlite", "duckdb", "snowflake", "http"] as const;
export type ScalingMode = "AUTO" | "BOUNDED" | "FIXED";
/** Where load workers run: `AUTO` is HO1's rule. */
export type Placement = "AUTO" | "COORDINATOR" | "WORKERS";

/**
 * Users choose READ_ONLY and the like; a saved template has `CUSTOM` with the operations of the
 * preset.
 */
export const workloadPresets = [
  ...(["READ_ONLY", "WRITE_ONLY", "READ_HEAVY"] as const),
  ...(["WRITE_HEAVY", "MIXED", "CUSTOM"] as const),
] as const;
export type WorkloadPreset = (typeof workloadPresets)[number];

export interface Scenario {
  readonly template_id: string | null;
  readonly template_name: string;
  readonly target: TargetConfig;
  readonly workload: WorkloadConfig;
  readonly scaling: ScalingConfig;
  readonly find_max: FindMaxConfig;
  readonly guardrails: GuardrailConfig;
  readonly slos: readonly SloConfig[];
  readonly verdict: VerdictConfig;
}

/** Never a secret: `url` has no password. */
export interface TargetConfig {
  readonly kind: (typeof targetKinds)[number];
  readonly url: string;
  /** The coordinator's environment variable that has the password. */
  readonly password_env: string | null;
  /** Hosts beyond loopback that may be loaded. */
  readonly allowed_hosts: readonly string[];
  readonly table_name: string;
  /**
   * STANDARD, HYBRID or INTERACTIVE, as in the specification. Null when the target has no table
   * types.
   */
  readonly table_type: string | null;
  readonly warehouse: string | null;
  /** Statements that create and fill the tables; run at Prepare when requested (`load_data`). */
  readonly load_sql: readonly string[];
  /**
   * Statements that restore the data that `load_sql` made; run before every start with
   * `reset_data`.
   */
  readonly reset_sql: readonly string[];
  readonly reset_data: boolean;
  readonly scale: number;
}

export interface WorkloadConfig {
  readonly load_mode: LoadMode;
  readonly preset: WorkloadPreset;
  readonly concurrent_connections: number;
  /** Only in QPS mode. */
  readonly target_qps: number | null;
  readonly arrivals: "uniform" | "poisson";
  readonly duration_seconds: number;
  readonly warmup_seconds: number;
  /** The ramp at the beginning, from 0 to the target. */
  readonly ramp_seconds: number;
  /** The pause between two operations on one connection; closed loop only. */
  readonly think_time_ms: number;
  /** Operations in flight on one connection. */
  readonly pipeline_depth: number;
  readonly operation_timeout_ms: number;
  readonly seed: number;
  /**
   * Stages instead of one constant target. Each begins at the end of the one before, and is linear
   * if `from` differs.
   */
  readonly stages: readonly StageConfig[];
  /** Shares derived from the operations' weights. */
  readonly read_percent: number;
  readonly write_percent: number;
  readonly operations: readonly OperationConfig[];
  /** One of this many operations is recorded in `query_executions`; 1 records all. */
  readonly record_one_in: number;
}

export interface StageConfig {
  readonly duration_seconds: number;
  /** Connections in CONCURRENCY mode, operations per second in QPS mode. */
  readonly target: number;
}

export interface OperationConfig {
  readonly name: string;
  readonly kind: QueryKind;
  readonly weight: number;
  /** Each text is one statement; `:name` is a parameter. */
  readonly statements: readonly string[];
  readonly transaction: boolean;
  /** For HTTP, the statuses that count as success; 200 to 299 by default. */
  readonly expect_status?: readonly number[] | undefined;
  readonly parameters: Readonly<Record<string, ValueConfig>>;
}

/** How a parameter gets its value. Runs with the same seed have the same values on each worker. */
export type ValueConfig =
  | {
      readonly kind: "key";
      readonly distribution: "uniform" | "zipfian" | "latest" | "sequential";
      readonly min: number;
      readonly max: number;
      /** Only for zipfian and latest. */
      readonly theta: number;
    }
  /** Keys that no other worker inserts. */
  | { readonly kind: "insert_key"; readonly start: number }
  | { readonly kind: "integer"; readonly min: number; readonly max: number }
  | { readonly kind: "double"; readonly min: number; readonly max: number }
  | { readonly kind: "text"; readonly length_min: number; readonly length_max: number }
  | { readonly kind: "choice"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly kind: "pool"; readonly pool: string; readonly distribution: "uniform" | "zipfian" }
  | { readonly kind: "now" }
  /** The value of another parameter of the same operation, plus a constant. */
  | { readonly kind: "relative"; readonly to: string; readonly plus: number };

/** Null means no limit; `-1` is read as null. */
export interface ScalingConfig {
  readonly mode: ScalingMode;
  readonly worker_count: number | null;
  readonly per_worker_capacity: number | null;
  readonly worker_group_count: number | null;
  readonly min_workers: number | null;
  readonly max_workers: number | null;
  readonly min_connections: number | null;
  readonly max_connections: number | null;
  /** Null means more than half of the workers. */
  readonly min_healthy_workers: number | null;
  readonly placement: Placement;
}

export interface FindMaxConfig {
  /** Mirrors `load_mode`. */
  readonly enabled: boolean;
  readonly start_concurrency: number;
  readonly concurrency_increment: number;
  readonly max_concurrency: number | null;
  readonly step_duration_seconds: number;
  readonly qps_stability_pct: number;
  readonly latency_stability_pct: number;
  readonly max_error_rate_pct: number;
}

/** A limit of null is not watched. */
export interface GuardrailConfig {
  readonly max_cpu_percent: number | null;
  readonly max_memory_percent: number | null;
  readonly max_error_rate_pct: number | null;
  readonly max_p99_latency_ms: number | null;
  /** How long a limit must be exceeded before load is reduced, and again before the run fails. */
  readonly grace_seconds: number;
  readonly abort_on_slo: boolean;
}

/** `availability_pct` is a minimum; it and `longest_silence` are only for ALL. */
export const sloMetrics = [
  ...(["p50", "p95", "p99", "p999", "max", "avg"] as const),
  ...(["error_rate_pct", "qps_min", "availability_pct", "longest_silence"] as const),
] as const;

export interface SloConfig {
  /** An operation's name, a query kind, or `ALL`. */
  readonly of: string;
  readonly metric: (typeof sloMetrics)[number];
  /** In milliseconds, percent, or operations per second. */
  readonly limit: number;
}

/** Limits that fail a run whatever its objectives (`verdict.ts`). Null disables a limit. */
export interface VerdictConfig {
  readonly needs_success: boolean;
  readonly max_error_rate_pct: number | null;
  readonly max_unserved_pct: number | null;
  readonly min_availability_pct: number | null;
  /** Default 5 s, or more when answers are usually far apart (VE4). */
  readonly max_silence_seconds?: number | null | undefined;
}
