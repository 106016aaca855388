/**
 * A load test's configuration: what `SCENARIO_CONFIG` of the specification is, field by field, and
 * what it leaves open, in camelCase. A run has a copy of it, which nothing changes. `parseScenario`
 * makes it of what people write, and `scenario-codec.ts` writes it in their snake_case again.
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
  readonly templateId: string | null;
  readonly templateName: string;
  readonly target: TargetConfig;
  readonly workload: WorkloadConfig;
  readonly scaling: ScalingConfig;
  readonly findMax: FindMaxConfig;
  readonly guardrails: GuardrailConfig;
  readonly slos: readonly SloConfig[];
  readonly verdict: VerdictConfig;
}

/** Never a secret: `url` has no password. */
export interface TargetConfig {
  readonly kind: (typeof targetKinds)[number];
  readonly url: string;
  /** The coordinator's environment variable that has the password. */
  readonly passwordEnv: string | null;
  /** Hosts beyond loopback that may be loaded. */
  readonly allowedHosts: readonly string[];
  readonly tableName: string;
  /**
   * STANDARD, HYBRID or INTERACTIVE, as in the specification. Null when the target has no table
   * types.
   */
  readonly tableType: string | null;
  readonly warehouse: string | null;
  /** Statements that create and fill the tables; run at Prepare when requested (`load_data`). */
  readonly loadSql: readonly string[];
  /**
   * Statements that restore the data that `loadSql` made; run before every start with
   * `resetData`.
   */
  readonly resetSql: readonly string[];
  readonly resetData: boolean;
  readonly scale: number;
}

export interface WorkloadConfig {
  readonly loadMode: LoadMode;
  readonly preset: WorkloadPreset;
  readonly concurrentConnections: number;
  /** Only in QPS mode. */
  readonly targetQps: number | null;
  readonly arrivals: "uniform" | "poisson";
  readonly durationSeconds: number;
  readonly warmupSeconds: number;
  /** The ramp at the beginning, from 0 to the target. */
  readonly rampSeconds: number;
  /** The pause between two operations on one connection; closed loop only. */
  readonly thinkTimeMs: number;
  /** Operations in flight on one connection. */
  readonly pipelineDepth: number;
  readonly operationTimeoutMs: number;
  readonly seed: number;
  /**
   * Stages instead of one constant target. Each begins at the end of the one before, and is linear
   * if `from` differs.
   */
  readonly stages: readonly StageConfig[];
  /** Shares derived from the operations' weights. */
  readonly readPercent: number;
  readonly writePercent: number;
  readonly operations: readonly OperationConfig[];
  /** One of this many operations is recorded in `query_executions`; 1 records all. */
  readonly recordOneIn: number;
}

export interface StageConfig {
  readonly durationSeconds: number;
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
  readonly expectStatus?: readonly number[] | undefined;
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
  | { readonly kind: "text"; readonly lengthMin: number; readonly lengthMax: number }
  | { readonly kind: "choice"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly kind: "pool"; readonly pool: string; readonly distribution: "uniform" | "zipfian" }
  | { readonly kind: "now" }
  /** The value of another parameter of the same operation, plus a constant. */
  | { readonly kind: "relative"; readonly to: string; readonly plus: number };

/** Null means no limit; `-1` is read as null. */
export interface ScalingConfig {
  readonly mode: ScalingMode;
  readonly workerCount: number | null;
  readonly perWorkerCapacity: number | null;
  readonly workerGroupCount: number | null;
  readonly minWorkers: number | null;
  readonly maxWorkers: number | null;
  readonly minConnections: number | null;
  readonly maxConnections: number | null;
  /** Null means more than half of the workers. */
  readonly minHealthyWorkers: number | null;
  readonly placement: Placement;
}

export interface FindMaxConfig {
  /** Mirrors `loadMode`. */
  readonly enabled: boolean;
  readonly startConcurrency: number;
  readonly concurrencyIncrement: number;
  readonly maxConcurrency: number | null;
  readonly stepDurationSeconds: number;
  readonly qpsStabilityPct: number;
  readonly latencyStabilityPct: number;
  readonly maxErrorRatePct: number;
}

/** A limit of null is not watched. */
export interface GuardrailConfig {
  readonly maxCpuPercent: number | null;
  readonly maxMemoryPercent: number | null;
  readonly maxErrorRatePct: number | null;
  readonly maxP99LatencyMs: number | null;
  /** How long a limit must be exceeded before load is reduced, and again before the run fails. */
  readonly graceSeconds: number;
  readonly abortOnSlo: boolean;
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
  readonly needsSuccess: boolean;
  readonly maxErrorRatePct: number | null;
  readonly maxUnservedPct: number | null;
  readonly minAvailabilityPct: number | null;
  /** Default 5 s, or more when answers are usually far apart (VE4). */
  readonly maxSilenceSeconds?: number | null | undefined;
}
