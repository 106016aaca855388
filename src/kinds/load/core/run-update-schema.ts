/**
 * A RUN_UPDATE, as the API sends it, field by field. Names are the specification's; what is added
 * stands at the end of each part.
 */
import { z } from "zod";
import { queryKinds } from "./operation.ts";
import {
  atLeast,
  count,
  counts,
  enrichmentStatus,
  list,
  loose,
  ms,
  phase,
  status,
  text,
  verdict,
  workerStatus,
} from "./schema-parts.ts";

const aggregateMetrics = z
  .strictObject({
    total_ops: z.int(),
    qps: count,
    p50_latency_ms: ms,
    p95_latency_ms: ms,
    p99_latency_ms: ms,
    avg_latency_ms: ms,
    error_rate: count,
    total_errors: z.int(),
    active_connections: z.int(),
    target_connections: z.int(),
    read_count: z.int(),
    write_count: z.int(),
    p999_latency_ms: ms,
    max_latency_ms: ms,
    service_p50_ms: ms,
    service_p99_ms: ms,
    errors_by_kind: counts,
    slowest_worker: z.strictObject({ p95_latency_ms: ms, p99_latency_ms: ms }).nullable(),
    target_qps: count.nullable(),
    min_latency_ms: ms,
    unserved: z.int().nullable().describe("Arrivals without an answer; null: not known."),
    percentiles_valid: z.boolean(),
    at_least: atLeast,
    availability_pct: ms,
    longest_silence_ms: ms,
    /** Requests that were sent again (HT5); this and the next two are null when not known. */
    resent_requests: z.int().nullable(),
    /** The longest time that a worker's generator did not run (SI6). */
    generator_frozen_ms: ms,
    /** Arrivals that were due in that time and not sent (GE10). */
    skipped_arrivals: z.int().nullable(),
  })
  .meta({ id: "AggregateMetrics" });

const runWorker = z
  .strictObject({
    worker_id: text,
    worker_group_id: z.int(),
    status: workerStatus,
    phase,
    health: z.enum(["HEALTHY", "STALE", "DEAD"]).meta({ id: "WorkerHealth" }),
    last_heartbeat: z.iso.datetime(),
    last_heartbeat_ago_s: count,
    metrics: z.strictObject({
      qps: count,
      p95_latency_ms: ms,
      error_count: z.int(),
      active_connections: z.int(),
      target_connections: z.int(),
      total_ops: z.int(),
      cpu_percent: ms,
      memory_percent: ms,
      event_loop_delay_ms: ms,
      schedule_lag_ms: ms,
    }),
    host_name: text,
    last_error: text.nullable(),
  })
  .meta({ id: "RunWorker" });

const operationUpdate = z
  .object({
    operation: text,
    query_kind: z.enum(queryKinds),
    ops: z.int(),
    errors: z.int(),
    p50_latency_ms: ms,
    p95_latency_ms: ms,
    p99_latency_ms: ms,
    unserved: z.int().nullable(),
    at_least: atLeast,
  })
  .meta({ id: "OperationUpdate" });

export const logLine = z
  .object({
    sequence: z.int(),
    level: text,
    message: text,
    worker_id: text.nullable(),
    timestamp: z.iso.datetime(),
  })
  .meta({ id: "LogLine" });

const findMaxUpdate = z
  .strictObject({
    current_step: z.int(),
    target_workers: z.int().describe("Connections of the step."),
    baseline_p95_ms: ms,
    current_p95_ms: ms,
    p95_vs_baseline_pct: ms,
    qps: ms,
    qps_vs_prior_pct: ms,
    error_rate: ms,
    queue_detected: z.boolean(),
    status: text,
    last_updated: z.iso.datetime(),
  })
  .meta({ id: "FindMaxUpdate" });

const serverState = z
  .strictObject({
    name: text,
    started_clusters: z.int().nullable(),
    running: z.int().nullable(),
    queued: z.int().nullable(),
  })
  .meta({ id: "ServerState" });

const resources = z
  .object({
    cpu_percent_avg: ms,
    cpu_percent_peak: ms,
    memory_percent_avg: ms,
    memory_percent_peak: ms,
    schedule_lag_ms_peak: ms,
    event_loop_delay_ms_peak: ms,
    waiting: count,
    dropped: count,
    generator_bound_reason: text
      .nullable()
      .describe("Why the last second shows the load generator's limit, not the target's."),
  })
  .meta({ id: "LoadResources" });

/** The `data` of a RUN_UPDATE, every field of it. */
export const runUpdateFields = z.strictObject({
  test_id: text,
  status,
  phase,
  timestamp: z.iso.datetime(),
  run: z.strictObject({
    run_id: text,
    status,
    phase,
    worker_count: z.int(),
    elapsed_seconds: count,
    timing: z.strictObject({ elapsed_display_seconds: count }),
    aggregate_metrics: aggregateMetrics,
    figures_phase: phase.describe("The phase that the figures are of."),
  }),
  timing: z.strictObject({
    elapsed_display_seconds: count,
    phase_elapsed_seconds: count,
    phase_duration_seconds: count.nullable(),
  }),
  latency_aggregation_method: z.literal("merged_histogram").nullable(),
  workers: list(runWorker),
  ops: z.strictObject({ total: z.int(), current_per_sec: count }),
  operations: z.strictObject({ reads: z.int(), writes: z.int() }),
  latency: z.strictObject({ p50: ms, p95: ms, p99: ms, avg: ms }),
  errors: z.strictObject({ count: z.int(), rate: count }),
  connections: z.strictObject({ active: z.int(), target: z.int() }),
  warehouse: serverState.nullable(),
  find_max: findMaxUpdate.nullable(),
  custom_metrics: z.strictObject({
    app_ops_breakdown: z.record(z.string(), operationUpdate),
    sf_bench: loose.describe("What the server said last, as it came."),
    resources,
  }),
  cancellation_reason: text.nullable(),
  enrichment_status: enrichmentStatus.nullable(),
  warnings: list(text),
  logs: list(logLine),
  verdict: z
    .strictObject({
      verdict,
      reasons: list(text),
      has_broken_limits: z.boolean(),
      allowances: list(text),
    })
    .nullable(),
});

export const runUpdateSchema = runUpdateFields.meta({
  id: "RunUpdate",
  description: "The data of a RUN_UPDATE of /ws/test/{id}: the whole state, once a second.",
});
