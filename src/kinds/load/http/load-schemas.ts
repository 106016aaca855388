/** Load tests, as the API takes and gives them. Names are the specification's. */
import { z } from "zod";
import { queryKinds } from "../core/operation.ts";
import { runPhases, runStatuses } from "../core/run-state.ts";

const ms = z.number().nullable();
const text = z.string();
const count = z.number();
const status = z.enum(runStatuses);
const phase = z.enum(runPhases);
const workerStatus = z.enum([
  "STARTING",
  "READY",
  "RUNNING",
  "DRAINING",
  "COMPLETED",
  "FAILED",
  "DEAD",
]);
const enrichmentStatus = z
  .enum(["PENDING", "RUNNING", "COMPLETED", "FAILED", "SKIPPED", "AGGREGATE"])
  .nullable();
const loose = z.record(z.string(), z.unknown());
const counts = z.record(z.string(), count);

/** The `data` of a RUN_UPDATE, every field of it. */
export const runUpdateSchema = z.strictObject({
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
    aggregate_metrics: z.strictObject({
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
      slowest_worker: loose.nullable(),
      target_qps: count.nullable(),
      min_latency_ms: ms,
      unserved: z.int().nullable(),
      percentiles_valid: z.boolean(),
      at_least: z.array(text),
      availability_pct: ms,
      longest_silence_ms: ms,
      resent_requests: z.int().nullable(),
      generator_frozen_ms: ms,
      skipped_arrivals: z.int().nullable(),
    }),
    figures_phase: phase,
  }),
  timing: z.strictObject({
    elapsed_display_seconds: count,
    phase_elapsed_seconds: count,
    phase_duration_seconds: count.nullable(),
  }),
  latency_aggregation_method: z.literal("merged_histogram").nullable(),
  workers: z.array(
    z.strictObject({
      worker_id: text,
      worker_group_id: z.int(),
      status: workerStatus,
      phase,
      health: z.enum(["HEALTHY", "STALE", "DEAD"]),
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
    }),
  ),
  ops: z.strictObject({ total: z.int(), current_per_sec: count }),
  operations: z.strictObject({ reads: z.int(), writes: z.int() }),
  latency: z.strictObject({ p50: ms, p95: ms, p99: ms, avg: ms }),
  errors: z.strictObject({ count: z.int(), rate: count }),
  connections: z.strictObject({ active: z.int(), target: z.int() }),
  warehouse: z
    .strictObject({
      name: text,
      started_clusters: z.int().nullable(),
      running: z.int().nullable(),
      queued: z.int().nullable(),
    })
    .nullable(),
  find_max: z
    .strictObject({
      current_step: z.int(),
      target_workers: z.int(),
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
    .nullable(),
  custom_metrics: z.strictObject({
    app_ops_breakdown: z.record(z.string(), loose),
    sf_bench: loose,
    resources: loose,
  }),
  cancellation_reason: text.nullable(),
  enrichment_status: enrichmentStatus,
  warnings: z.array(text),
  logs: z.array(
    z.looseObject({
      sequence: z.int(),
      level: text,
      message: text,
      worker_id: text.nullable(),
      timestamp: z.iso.datetime(),
    }),
  ),
  verdict: z
    .strictObject({
      verdict: z.enum(["PASSED", "FAILED"]).nullable(),
      reasons: z.array(text),
      has_broken_limits: z.boolean(),
      allowances: z.array(text),
    })
    .nullable(),
});

const name = z.string().min(1).max(200);
const finite = z.number().finite();
const encoded = z.string().max(262_144);

const seriesSchema = z.strictObject({
  operation: name,
  kind: z.enum(queryKinds),
  phase: z.enum(["WARMUP", "MEASUREMENT", "COOLDOWN"]),
  step: z.int().min(0),
  ops: z.int().min(0),
  rows: z.int().min(0),
  errors: z.record(z.string().max(100), z.int().min(0)),
  response: encoded,
  service: encoded,
  failed: encoded.nullable(),
  unserved: z.int().min(0),
  censored: encoded,
});

export const livePostSchema = z.strictObject({
  test_id: name,
  worker_id: name,
  worker_group_id: z.int().min(0),
  worker_group_count: z.int().min(1),
  phase,
  status: workerStatus,
  target_connections: z.int().min(0),
  metrics: z.strictObject({
    run_id: name,
    test_id: name,
    worker_id: name,
    worker_group_id: z.int().min(0),
    sequence: z.int().min(0),
    status: workerStatus,
    phase,
    step: z.int().min(0),
    elapsed_seconds: finite,
    target_connections: z.int().min(0),
    target_qps: finite.nullable(),
    active_connections: z.int().min(0),
    qps: finite,
    health: z.strictObject({
      event_loop_delay_ms_p99: finite,
      event_loop_delay_ms_mean: finite,
      schedule_lag_ms_p99: finite,
      schedule_lag_ms_p95: finite,
      latency_ms_p50: finite.nullable(),
      latency_ms_p95: finite.nullable(),
      cpu_percent: finite,
      memory_percent: finite,
      rss_bytes: finite,
      waiting: z.int().min(0),
      dropped: z.int().min(0),
      unsent: z.int().min(0),
    }),
    answering: z.strictObject({
      measured_ms: finite.min(0),
      silences: encoded,
      outages: encoded.default(""),
      connection_ms: finite.min(0).default(0),
      stalls: z.record(z.string().max(100), encoded).default({}),
      resent: z.int().min(0).default(0),
      frozen_ms: finite.min(0).default(0),
      skipped: z.int().min(0).default(0),
    }),
    error_examples: z.record(z.string().max(100), z.string().max(500)),
    series: z.array(seriesSchema).max(10_000),
    step_response: encoded.nullable(),
  }),
});

export const runRequestSchema = z.object({
  test_name: name.optional(),
  target_url: z.string().max(2_000).optional().describe("Instead of the template's. No password."),
  allowed_hosts: z.array(z.string().max(253)).max(100).optional(),
  settings: z
    .array(z.string().max(1_000))
    .max(100)
    .optional()
    .describe("duration=30, qps=100, scaling.mode=FIXED: for this run alone."),
  password: z.string().max(10_000).optional().describe("The target's. Sealed; never shown."),
  load_data: z.boolean().optional().describe("Make the template's data first."),
  reset_data: z
    .boolean()
    .optional()
    .describe("Put the data back when the run starts; else as the template says."),
});

const templateSummarySchema = z.object({
  template_id: text,
  template_name: text,
  description: text,
  is_built_in: z.boolean(),
  created_at_ms: count,
  updated_at_ms: count,
});

export const listedTemplateSchema = templateSummarySchema.extend({
  target_kind: text,
  load_mode: text,
  concurrent_connections: count,
  target_qps: count.nullable(),
  duration_seconds: count,
  operations: z.array(text),
});

export const templateSchema = templateSummarySchema.extend({
  config: loose.describe("The template itself."),
  pools: z.array(loose),
});

export const preparedSchema = z.object({
  test_id: text,
  run_id: text,
  status: z.literal("PREPARED"),
  phase: z.literal(""),
});

export const testResultSchema = z.looseObject({
  test_id: text,
  run_id: text,
  test_name: text,
  status: text,
  target_kind: text,
  load_mode: text,
  start_time_ms: count.nullable(),
  end_time_ms: count.nullable(),
  duration_seconds: count.nullable(),
  total_operations: z.int(),
  failed_operations: z.int(),
  unserved: z.int().nullable(),
  availability_pct: ms,
  longest_silence_ms: ms,
  verdict: z.enum(["PASSED", "FAILED"]).nullable(),
  qps: count.nullable(),
  p50_latency_ms: ms,
  p95_latency_ms: ms,
  p99_latency_ms: ms,
  percentiles_valid: z.boolean(),
  generator_bound: z.boolean(),
  enrichment_status: enrichmentStatus,
});

export const testSchema = testResultSchema.extend({
  phase,
  stop_reason: text.nullable(),
  figures: loose,
  scenario_config: loose,
  children: z.array(testResultSchema),
  live: loose.describe("The newest RUN_UPDATE, without its log lines."),
});
