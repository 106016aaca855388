/** A load test's configuration, as the API shows it. */
import { z } from "zod";
import { queryKinds } from "../core/operation.ts";
import { loadModes, sloMetrics, targetKinds } from "../core/scenario.ts";

const limit = z.number().nullable();
const texts = z.array(z.string()).readonly();

export const loadMode = z.enum(loadModes).meta({ id: "LoadMode" });

export const targetSchema = z.object({
  kind: z.enum(targetKinds),
  url: z.string().describe("Without a password."),
  password_env: z.string().nullable(),
  allowed_hosts: texts,
  load_sql: texts,
});

export const sloSchema = z.object({
  of: z.string().describe("An operation's name, a kind of query, or ALL."),
  metric: z.enum(sloMetrics),
  limit: z.number().describe("Milliseconds, percent, or operations a second."),
});

const workloadSchema = z.object({
  load_mode: loadMode,
  concurrent_connections: z.number(),
  target_qps: z.number().nullable(),
  duration_seconds: z.number(),
  warmup_seconds: z.number(),
  record_one_in: z.number(),
  operations: z
    .array(
      z.object({
        name: z.string(),
        kind: z.enum(queryKinds),
        weight: z.number(),
        transaction: z.boolean(),
        statements: texts,
      }),
    )
    .readonly(),
});

export const scenarioSchema = z
  .object({
    template_id: z.string().nullable(),
    template_name: z.string(),
    target: targetSchema.extend({ reset_sql: texts }),
    workload: workloadSchema,
    scaling: z.object({ mode: z.enum(["AUTO", "BOUNDED", "FIXED"]) }),
    guardrails: z.object({
      max_cpu_percent: limit,
      max_memory_percent: limit,
      max_error_rate_pct: limit,
      max_p99_latency_ms: limit,
      abort_on_slo: z.boolean(),
    }),
    slos: z.array(sloSchema.meta({ id: "SloConfig" })).readonly(),
  })
  .meta({ id: "Scenario", description: "What a run was prepared with. Never a secret." });
