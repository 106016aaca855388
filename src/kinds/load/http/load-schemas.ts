/** Schemas of load tests and their templates. Names are the specification's. */
import { z } from "zod";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseRunId, type RunId } from "../core/ids.ts";
import { count, list, text } from "../core/schema-parts.ts";
import { loadMode, targetSchema } from "./scenario-schema.ts";

const name = z.string().min(1).max(200);

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
