/**
 * What the API tells of runs that are or were: their list, one run's figures, comparisons. Names
 * are the API's.
 */
import { request } from "./http.ts";
import { changeRun } from "./load.ts";
import type {
  RunSecond as LiveSecond,
  WorkerSecond as LiveWorkerSecond,
  LoadMode,
  RunStatus,
  RunWorker,
} from "./load-types.ts";

export type EnrichmentStatus =
  | "PENDING"
  | "RUNNING"
  | "COMPLETED"
  | "FAILED"
  | "SKIPPED"
  | "AGGREGATE";

/** A run, or one worker's share of it. */
export interface TestResult {
  readonly test_id: string;
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
  /** `null`: an earlier version did not count them. */
  readonly unserved: number | null;
  readonly verdict: "PASSED" | "FAILED" | null;
  readonly qps: number | null;
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly percentiles_valid: boolean;
  readonly generator_bound: boolean;
  readonly cancellation_reason: string | null;
  readonly slo_result: readonly Objective[] | null;
}

export interface TestPage {
  readonly items: readonly TestResult[];
  readonly next_page_token: string | null;
}

export interface Scenario {
  readonly target: Readonly<Record<string, unknown>> & {
    readonly url: string;
    readonly load_sql: readonly string[];
    readonly reset_sql: readonly string[];
  };
  readonly workload: Readonly<Record<string, unknown>> & {
    readonly target_qps: number | null;
    readonly concurrent_connections: number;
    readonly record_one_in: number;
    readonly operations: readonly {
      readonly name: string;
      readonly weight: number;
      readonly transaction: boolean;
      readonly statements: readonly string[];
    }[];
  };
  readonly [part: string]: unknown;
}

export interface TestDetail extends TestResult {
  readonly stop_reason: string | null;
  readonly enrichment_status: EnrichmentStatus | null;
  readonly scenario_config: Scenario;
  readonly children: readonly TestResult[];
  readonly live: { readonly workers: readonly RunWorker[] };
}

export interface Objective {
  readonly of: string;
  readonly metric: string;
  readonly limit: number;
  readonly state: "MET" | "MISSED" | "NO_DATA";
  readonly text: string;
}

export interface FindMaxStep {
  readonly step_number: number;
  readonly connections: number;
  readonly qps: number;
  readonly p95_latency_ms: number | null;
  readonly error_rate_pct: number;
  readonly outcome: string | null;
  readonly reason: string;
}

export type LatencyName =
  | "p50_latency_ms"
  | "p95_latency_ms"
  | "p99_latency_ms"
  | "p999_latency_ms"
  | "avg_latency_ms"
  | "max_latency_ms";

export interface Latency {
  readonly p50_latency_ms: number | null;
  readonly p95_latency_ms: number | null;
  readonly p99_latency_ms: number | null;
  readonly p999_latency_ms: number | null;
  readonly avg_latency_ms: number | null;
  readonly max_latency_ms: number | null;
  /** Those that are at least so much: arrivals that nobody answered are among them. */
  readonly at_least: readonly string[];
}

export interface OperationSummary extends Latency {
  readonly operation: string;
  readonly query_kind: string;
  readonly ops: number;
  readonly errors: number;
  readonly unserved: number | null;
  readonly qps: number;
}

/** `report.json`: the run's final record, from which everybody has his figures. */
export interface RunSummary extends Latency {
  readonly verdict: "PASSED" | "FAILED" | null;
  /** Why it failed. */
  readonly reasons: readonly string[];
  /** Limits that the template sets otherwise than by default. */
  readonly allowances: readonly string[];
  readonly generator_bound: boolean;
  readonly percentiles_from: "records" | "histograms";
  readonly unserved: number | null;
  readonly unserved_pct: number | null;
  readonly resent_requests: number | null;
  /** How long the load generator did not run; `null`: not known. */
  readonly generator_frozen_ms: number | null;
  readonly skipped_arrivals: number | null;
  readonly availability_pct: number | null;
  readonly longest_silence_ms: number | null;
  readonly failed_latency: Omit<Latency, "at_least"> | null;
  readonly measured_seconds: number;
  readonly worker_count: number;
  readonly total_operations: number;
  readonly failed_operations: number;
  readonly error_rate_pct: number;
  readonly qps: number;
  readonly operations: readonly OperationSummary[];
  readonly slos: readonly Objective[];
  readonly find_max: {
    readonly max_concurrency: number;
    readonly true_max: boolean;
    readonly qps: number;
    readonly p95_latency_ms: number;
    readonly reason: string;
    /** Between which numbers the maximum lies; not there in results of older versions. */
    readonly low?: number | null;
    readonly high?: number | null;
  } | null;
  readonly find_max_steps: readonly FindMaxStep[];
  readonly warnings: readonly string[];
}

export interface ExactLatency {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly avg_ms: number;
  readonly max_ms: number;
}

export interface HeatCell {
  readonly at_seconds: number;
  readonly low_ms: number;
  readonly high_ms: number;
  readonly count: number;
}

export interface HeatMap {
  readonly start_ms: number | null;
  readonly bucket_seconds: number;
  readonly cells: readonly HeatCell[];
}

/** Of the records: exact, but only of what was recorded. */
export interface FinalFigures {
  readonly coverage: number | null;
  readonly latency: ExactLatency | null;
  readonly by_operation: readonly {
    readonly operation: string;
    readonly coverage: number | null;
    readonly latency: ExactLatency | null;
  }[];
  readonly heat_map: HeatMap;
}

export interface ErrorSummary {
  readonly total_errors: number;
  readonly errors_by_kind: Readonly<Record<string, number>>;
  readonly by_operation: readonly {
    readonly operation: string;
    readonly error_count: number;
  }[];
  readonly messages: readonly {
    readonly error_kind: string;
    readonly error_message: string | null;
    readonly count: number;
  }[];
}

export interface RunSecond extends LiveSecond {
  /** Of the phase so far. */
  readonly error_count: number;
}

export interface ServerPoll {
  readonly timestamp_ms: number;
  readonly elapsed_seconds: number | null;
  readonly warehouse_name: string;
  readonly running: number | null;
  readonly queued: number | null;
}

export interface RunMetrics {
  readonly items: readonly RunSecond[];
  readonly warehouse: readonly ServerPoll[];
}

export interface WorkerSecond extends LiveWorkerSecond {
  readonly worker_id: string;
  readonly custom_metrics: {
    readonly health?: { readonly event_loop_delay_ms_p99: number };
  };
}

export interface QueryExecution {
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
  readonly rows_affected: number | string;
  readonly warmup: boolean;
  readonly sf_query_id: string | null;
}

export interface EnrichmentState {
  readonly enrichment_status: EnrichmentStatus | null;
  readonly enrichment_ratio: number | null;
  readonly enrichment_error: string | null;
  readonly app_overhead_p50_ms: number | null;
  readonly app_overhead_p95_ms: number | null;
  readonly app_overhead_p99_ms: number | null;
  readonly statements: readonly {
    readonly text: string;
    readonly calls: number;
    readonly totalMs: number;
    readonly rows: number;
  }[];
}

export type ComparisonVerdict =
  | "IMPROVEMENT"
  | "NEUTRAL"
  | "INCONCLUSIVE"
  | "WARNING"
  | "REGRESSION";

export interface MetricDifference {
  readonly metric:
    | "qps"
    | "p50"
    | "p95"
    | "p99"
    | "error_rate_pct"
    | "unserved_pct"
    | "availability_pct";
  readonly of: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly is_least: readonly [before: boolean, after: boolean];
  readonly change_pct: number | null;
  readonly interval_pct: readonly [number, number] | null;
  readonly p_value: number | null;
  readonly verdict: "better" | "same" | "slightly worse" | "worse" | "unsure";
}

export interface RunComparison {
  readonly base_run_id: string;
  readonly run_id: string;
  readonly verdict: ComparisonVerdict;
  readonly reasons: readonly string[];
  readonly metrics: readonly MetricDifference[];
  readonly configuration: readonly {
    readonly path: string;
    readonly before?: unknown;
    readonly after?: unknown;
  }[];
}

/** Something happens to it by itself. */
export function isUnderWay(status: RunStatus): boolean {
  return status === "RUNNING" || status === "STOPPING" || status === "CANCELLING";
}

export function testPath(runId: string, part = ""): string {
  return `/api/tests/${encodeURIComponent(runId)}${part}`;
}

export async function readJson<T>(path: string, signal: AbortSignal): Promise<T> {
  return (await (await request(path, { signal })).json()) as T;
}

const secondsPerPage = 10_000;
const pagesMax = 10;

/** Every second of the run, however long it was. */
export async function readMetrics(runId: string, signal: AbortSignal): Promise<RunMetrics> {
  const items: RunSecond[] = [];
  let warehouse: readonly ServerPoll[] = [];
  for (let page = 0; page < pagesMax; page += 1) {
    const after = items.at(-1)?.timestamp_ms ?? 0;
    const path = testPath(runId, `/metrics?after_ms=${after}&limit=${secondsPerPage}`);
    const found = await readJson<RunMetrics>(path, signal);
    if (page === 0) warehouse = found.warehouse;
    items.push(...found.items);
    if (found.items.length < secondsPerPage) break;
  }
  return { items, warehouse };
}

/** Prepares a run of the past again and starts it; the new one's id. */
export async function rerun(runId: string): Promise<string> {
  const prepared = await request(testPath(runId, "/rerun"), { method: "POST" });
  const { test_id: id } = (await prepared.json()) as { readonly test_id: string };
  await changeRun(id, "start");
  return id;
}
