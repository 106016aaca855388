/** Schemas of a run's figures, records and comparisons. */
import { z } from "zod";
import { queryKinds } from "../core/operation.ts";
import { logLine, runUpdateFields } from "../core/run-update-schema.ts";
import {
  atLeast,
  count,
  counts,
  enrichmentStatus,
  latencies,
  latencySummary,
  list,
  loose,
  ms,
  phase,
  status,
  text,
  verdict,
} from "../core/schema-parts.ts";
import { loadMode, scenarioSchema, sloSchema } from "./scenario-schema.ts";

const objective = sloSchema
  .extend({
    state: z.enum(["MET", "MISSED", "NO_DATA"]),
    value: ms.describe("In the limit's unit; null: nothing was measured."),
    text,
  })
  .meta({ id: "Objective" });

export const testResultSchema = z
  .object({
    test_id: text,
    run_id: text,
    test_name: text,
    template_id: text.nullable(),
    template_name: text,
    worker_id: text.nullable(),
    status,
    target_kind: text,
    table_name: text,
    load_mode: loadMode,
    concurrent_connections: count,
    start_time_ms: count.nullable(),
    end_time_ms: count.nullable(),
    created_at_ms: count,
    duration_seconds: count.nullable(),
    total_operations: z.int(),
    failed_operations: z.int(),
    unserved: z.int().nullable(),
    availability_pct: ms,
    longest_silence_ms: ms,
    verdict,
    qps: count.nullable(),
    p50_latency_ms: ms,
    p95_latency_ms: ms,
    p99_latency_ms: ms,
    percentiles_valid: z.boolean(),
    generator_bound: z.boolean(),
    cancellation_reason: text.nullable(),
    slo_result: list(objective).nullable(),
    enrichment_status: enrichmentStatus.nullable(),
  })
  .meta({ id: "TestResult", description: "A run, or one worker's share of it." });

export const testSchema = testResultSchema
  .extend({
    phase,
    stop_reason: text.nullable(),
    figures: loose,
    scenario_config: scenarioSchema,
    children: list(testResultSchema),
    live: runUpdateFields
      .omit({ logs: true })
      .describe("The newest RUN_UPDATE, without its log lines."),
  })
  .meta({ id: "TestDetail" });

const runSecond = z
  .object({
    timestamp_ms: count,
    elapsed_seconds: count,
    phase,
    qps: count,
    error_count: z.int().describe("Of the phase so far."),
    active_connections: z.int(),
    target_connections: z.int(),
    interval_p50_ms: ms.describe("Of this second alone, as the other intervals."),
    interval_p95_ms: ms,
    interval_p99_ms: ms,
  })
  .meta({ id: "RunSecond" });

const serverPoll = z
  .object({
    timestamp_ms: count,
    elapsed_seconds: count.nullable(),
    warehouse_name: text,
    running: count.nullable(),
    queued: count.nullable(),
  })
  .meta({ id: "ServerPoll" });

export const runMetricsSchema = z
  .object({ items: list(runSecond), warehouse: list(serverPoll) })
  .meta({ id: "RunMetrics" });

export const workerSecondSchema = z
  .object({
    timestamp_ms: count,
    worker_id: text,
    qps: count,
    error_count: z.int(),
    p95_latency_ms: ms,
    cpu_percent: ms,
    memory_percent: ms,
    active_connections: z.int(),
    custom_metrics: z.object({
      health: z.object({ event_loop_delay_ms_p99: count }).optional(),
    }),
  })
  .meta({ id: "WorkerSecond" });

export const findMaxStepSchema = z
  .object({
    step_number: z.int(),
    total_target_connections: z.int(),
    qps: ms,
    p95_latency_ms: ms,
    error_rate: ms,
    qps_vs_prior_pct: ms,
    p95_vs_baseline_pct: ms,
    queue_detected: z.boolean(),
    outcome: text.nullable(),
    stop_reason: text.nullable(),
  })
  .meta({ id: "FindMaxStep" });

export const logPageSchema = z.object({ items: list(logLine) });

export const executionSchema = z
  .object({
    execution_id: text,
    worker_id: text,
    connection_id: z.int(),
    operation: text,
    start_ms: count,
    app_elapsed_ms: count,
    service_ms: count,
    success: z.boolean(),
    error_kind: text.nullable(),
    error_message: text.nullable(),
    rows_affected: count,
    warmup: z.boolean(),
    sf_query_id: text.nullable(),
  })
  .meta({ id: "QueryExecution" });

export const errorSummarySchema = z
  .object({
    total_errors: z.int(),
    errors_by_kind: counts,
    by_operation: list(z.object({ operation: text, error_count: z.int() })),
    messages: list(z.object({ error_kind: text, error_message: text.nullable(), count: z.int() })),
  })
  .meta({ id: "ErrorSummary" });

const exactLatency = z
  .object({
    p50_ms: count,
    p95_ms: count,
    p99_ms: count,
    p999_ms: count,
    avg_ms: count,
    max_ms: count,
  })
  .meta({ id: "ExactLatency" });
const recorded = {
  coverage: ms.describe("The share of operations that has records; null: there were none."),
  latency: exactLatency.nullable(),
};
const heatMap = z
  .object({
    start_ms: count.nullable(),
    bucket_seconds: count,
    cells: list(
      z
        .object({ at_seconds: count, low_ms: count, high_ms: count, count: z.int() })
        .meta({ id: "HeatCell" }),
    ),
  })
  .meta({ id: "HeatMap" });

export const finalFiguresSchema = z
  .object({
    ...recorded,
    by_operation: list(z.object({ operation: text, ...recorded })),
    heat_map: heatMap,
  })
  .meta({ id: "FinalFigures", description: "From the records of single operations: exact." });

export const enrichmentSchema = z
  .object({
    enrichment_status: enrichmentStatus.nullable(),
    enrichment_ratio: ms,
    enrichment_error: text.nullable(),
    app_overhead_p50_ms: ms,
    app_overhead_p95_ms: ms,
    app_overhead_p99_ms: ms,
    statements: list(z.object({ text, calls: count, totalMs: count, rows: count })),
  })
  .meta({ id: "EnrichmentState" });

const operationSummary = z
  .object({
    ...latencies,
    at_least: atLeast,
    operation: text,
    query_kind: z.enum(queryKinds),
    ops: z.int(),
    errors: z.int(),
    unserved: z.int().nullable(),
    qps: count,
  })
  .meta({ id: "OperationSummary" });

export const runSummarySchema = z
  .object({
    ...latencies,
    at_least: atLeast,
    verdict,
    reasons: list(text).describe("Why it failed."),
    allowances: list(text).describe("Limits that the template sets otherwise than by default."),
    generator_bound: z.boolean(),
    percentiles_from: z.enum(["records", "histograms"]),
    unserved: z.int().nullable(),
    unserved_pct: ms,
    resent_requests: z.int().nullable(),
    generator_frozen_ms: ms.describe("How long the load generator did not run; null: not known."),
    skipped_arrivals: z.int().nullable(),
    availability_pct: ms,
    longest_silence_ms: ms,
    failed_latency: latencySummary.nullable(),
    measured_seconds: count,
    worker_count: z.int(),
    total_operations: z.int(),
    failed_operations: z.int(),
    error_rate_pct: count,
    qps: count,
    operations: list(operationSummary),
    slos: list(objective),
    find_max: z
      .object({
        max_concurrency: z.int(),
        true_max: z.boolean(),
        qps: count,
        p95_latency_ms: count,
        reason: text,
        low: count
          .nullish()
          .describe("The maximum lies between low and high; older runs lack both."),
        high: count.nullish(),
      })
      .nullable(),
    find_max_steps: list(
      z
        .object({
          step_number: z.int(),
          connections: z.int(),
          qps: count,
          p95_latency_ms: ms,
          error_rate_pct: count,
          outcome: text.nullable(),
          reason: text,
        })
        .meta({ id: "ReportStep" }),
    ),
    warnings: list(text),
  })
  .meta({ id: "RunSummary", description: "The run's final record." });
