/** Schemas of load tests and their templates. Names are the specification's. */
import { z } from "zod";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseRunId, type RunId } from "../core/ids.ts";
import { queryKinds } from "../core/operation.ts";
import { runPhases } from "../core/run-state.ts";
import { loadMode, targetSchema } from "./scenario-schema.ts";
import { count, list, text, workerStatus } from "./schema-parts.ts";

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
  phase: z.enum(runPhases),
  status: workerStatus,
  target_connections: z.int().min(0),
  metrics: z.strictObject({
    run_id: name,
    test_id: name,
    worker_id: name,
    worker_group_id: z.int().min(0),
    sequence: z.int().min(0),
    status: workerStatus,
    phase: z.enum(runPhases),
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

export const listedTemplateSchema = templateSummarySchema
  .extend({
    target_kind: text,
    load_mode: loadMode,
    concurrent_connections: count,
    target_qps: count.nullable(),
    duration_seconds: count,
    operations: list(text),
  })
  .meta({ id: "ListedTemplate" });

export const templateSchema = templateSummarySchema
  .extend({
    config: z
      .object({ target: targetSchema.extend({ load_sql: list(z.unknown()) }) })
      .describe("The template itself."),
    pools: list(z.object({ pool: text, value_count: z.int() })),
  })
  .meta({ id: "Template" });

export const templateProblemSchema = z
  .object({ path: text.describe("Empty for the whole."), message: text })
  .meta({ id: "TemplateProblem" });

export const preparedSchema = z.object({
  test_id: text,
  run_id: text,
  status: z.literal("PREPARED"),
  phase: z.literal(""),
});

export const testParams = z.object({ id: z.string().max(128) });

/** The run that a path names. */
export function runOf({ id }: z.infer<typeof testParams>): RunId {
  const runId = parseRunId(id);
  if (runId !== undefined) return runId;
  throw new OperatingError("not_found", "never", `there is no run ${id}`);
}
