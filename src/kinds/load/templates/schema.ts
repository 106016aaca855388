/**
 * The parts of a template, each as people may write it, with everything that they may leave out.
 */
import { z } from "zod";
import { unknownField } from "../../../ground/kernel/unknown-field.ts";
import { queryKinds } from "../core/operation.ts";
import { loadModes, sloMetrics, targetKinds, workloadPresets } from "../core/scenario.ts";
import { verdictDefaults } from "../core/verdict.ts";
import {
  above,
  decimal,
  expected,
  fields,
  flag,
  limit,
  list,
  oneOf,
  problemsOf,
  text,
  whole,
} from "./fields.ts";
import { isScaledText, scaledForm } from "./scaled.ts";
import { parseSloText } from "./slo-text.ts";

const sqlMax = 64 * 1024;
const daySeconds = 86_400;

const identifier = z
  .string(expected("a name"))
  .regex(
    /^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*){0,2}$/,
    expected("a table's name: letters, digits and _, with its schema before a dot"),
  );

const sqlText = text(sqlMax, "a statement");
const statementText = z.union([
  sqlText,
  fields(
    Object.fromEntries(
      [...targetKinds, "default" as const].map((kind) => [kind, sqlText.optional()]),
    ),
    "a statement, or a mapping of kinds of target to statements",
  ),
]);
const statements = z.preprocess(
  (value) => (typeof value === "string" ? [value] : value),
  z.array(statementText, expected("a list of statements")).max(200, expected("at most 200")),
);

/** `target: postgres://…` is enough. */
export const targetSchema = z.preprocess(
  (value) => (typeof value === "string" ? { url: value } : value),
  fields(
    {
      kind: oneOf(...targetKinds).optional(),
      url: text(2_000, "a URL").min(1, expected("a URL")),
      password_env: z
        .string(expected("the name of an environment variable"))
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, expected("the name of an environment variable"))
        .nullable()
        .default(null),
      allowed_hosts: list(text(253, "a host's name")).default([]),
      table_name: identifier.default("load_items"),
      table_type: text(60).nullable().default(null),
      warehouse: text(200).nullable().default(null),
      load_sql: statements.optional(),
      reset_sql: statements.optional(),
      reset_data: flag().optional(),
      scale: whole(1, 100_000).default(1),
    },
    "a URL, or a mapping with url",
  ),
);

const scaled = z.union([
  z.number(),
  z.string().refine(isScaledText, expected(scaledForm)),
]) as z.ZodUnion<[z.ZodNumber, z.ZodString]>;
const number = (): typeof scaled => scaled;
const poolValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const distribution = oneOf("uniform", "zipfian", "latest", "sequential");

const valueShapes = {
  key: {
    distribution: distribution.default("uniform"),
    min: number().default(1),
    max: number(),
    theta: decimal(0.01, 0.9999).default(0.99),
  },
  insert_key: { start: number() },
  integer: { min: number().default(1), max: number() },
  double: { min: number().default(0), max: number() },
  text: { length_min: whole(0, 65_536).optional(), length_max: whole(1, 65_536) },
  choice: { values: z.array(poolValue).min(1, expected("a list of at least one value")) },
  pool: { pool: text(100).min(1), distribution: oneOf("uniform", "zipfian").default("uniform") },
  now: {},
  relative: { to: text(60), plus: number().default(0) },
};
const valueKinds = Object.keys(valueShapes);
const valueSchemas: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(valueShapes).map(([kind, shape]) => [
    kind,
    fields({ kind: z.literal(kind), ...shape }),
  ]),
);

/** By its kind, so that what is wrong is said of that kind alone. */
const valueSchema = z.unknown().transform((value, context) => {
  const kind = (value as { kind?: unknown } | null)?.kind;
  const schema = typeof kind === "string" ? valueSchemas[kind] : undefined;
  if (schema === undefined) {
    const path = typeof value === "object" && value !== null ? ["kind"] : [];
    const known = valueKinds.join(", ");
    const message = path.length > 0 ? `expected one of ${known}` : "expected a mapping with kind";
    context.addIssue({ code: "custom", message, path });
    return z.NEVER;
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) {
    context.addIssue({ code: "custom", message: ofUnion(message), path: [...path] });
  }
  return z.NEVER;
});

/** A union of a number and a text says only that neither fitted. */
function ofUnion(message: string): string {
  return message === "Invalid input" ? `expected ${scaledForm}` : message;
}

const operationSchema = fields({
  name: z
    .string(expected("a name"))
    .regex(/^[A-Za-z_][\w.-]{0,59}$/, expected("a name: a letter, then letters, digits, _ . -")),
  kind: oneOf(...queryKinds).default("CUSTOM"),
  weight: decimal(0, 1_000_000).optional(),
  percent: decimal(0, 100).optional(),
  statements,
  transaction: flag().default(false),
  expect_status: z
    .array(whole(200, 599), expected("a list of HTTP statuses"))
    .min(1, expected("at least one HTTP status"))
    .optional(),
  parameters: z.record(z.string(), valueSchema, expected("a mapping of names")).default({}),
});

export const workloadSchema = fields({
  load_mode: oneOf(...loadModes).optional(),
  preset: oneOf(...workloadPresets).optional(),
  concurrent_connections: limit(whole(1, 100_000)),
  target_qps: limit(above(0)),
  arrivals: oneOf("uniform", "poisson").default("poisson"),
  duration_seconds: above(0)
    .max(7 * daySeconds, expected("at most a week"))
    .default(60),
  warmup_seconds: decimal(0, daySeconds).default(5),
  ramp_seconds: decimal(0, daySeconds).default(0),
  think_time_ms: decimal(0, 3_600_000).default(0),
  pipeline_depth: whole(1, 1_000).default(1),
  operation_timeout_ms: whole(1, daySeconds * 1_000).default(30_000),
  seed: whole(0).default(1),
  stages: list(fields({ duration_seconds: above(0), target: decimal(0) })).default([]),
  read_percent: decimal(0, 100).optional(),
  write_percent: decimal(0, 100).optional(),
  operations: list(operationSchema).optional(),
  record_one_in: whole(1, 1_000_000_000).default(1),
});

const someWorkers = limit(whole(1, 10_000));
const someConnections = limit(whole(1, 100_000));
export const scalingSchema = fields({
  mode: oneOf("AUTO", "BOUNDED", "FIXED").default("AUTO"),
  worker_count: someWorkers,
  per_worker_capacity: someConnections,
  worker_group_count: someWorkers,
  min_workers: someWorkers,
  max_workers: someWorkers,
  min_connections: someConnections,
  max_connections: someConnections,
  min_healthy_workers: someWorkers,
  placement: oneOf("AUTO", "COORDINATOR", "WORKERS").default("AUTO"),
});

export const findMaxSchema = fields({
  enabled: flag().optional(),
  start_concurrency: whole(1, 100_000).default(5),
  concurrency_increment: whole(1, 100_000).default(10),
  max_concurrency: limit(whole(1, 100_000)),
  step_duration_seconds: above(0).default(30),
  qps_stability_pct: decimal(0, 100).default(5),
  latency_stability_pct: decimal(0, 1_000_000).default(20),
  max_error_rate_pct: decimal(0, 100).default(1),
});

export const guardrailSchema = fields({
  max_cpu_percent: limit(above(0)),
  max_memory_percent: limit(above(0)),
  max_error_rate_pct: limit(decimal(0, 100)),
  max_p99_latency_ms: limit(above(0)),
  grace_seconds: decimal(0, 3_600).default(10),
  abort_on_slo: flag().default(false),
});

export const verdictSchema = fields({
  needs_success: flag().default(verdictDefaults.needsSuccess),
  max_error_rate_pct: limit(decimal(0, 100), verdictDefaults.maxErrorRatePct),
  max_unserved_pct: limit(decimal(0, 100), verdictDefaults.maxUnservedPct),
  min_availability_pct: limit(decimal(0, 100), verdictDefaults.minAvailabilityPct),
  max_silence_seconds: limit(above(0)).unwrap().optional(),
});

const sloFields = fields({
  of: text(60).default("ALL"),
  metric: oneOf(...sloMetrics),
  limit: decimal(0),
});
const sloSchema = z.unknown().transform((value, context) => {
  const parsed = sloFields.safeParse(typeof value === "string" ? parseSloText(value) : value);
  if (parsed.success) return parsed.data;
  const isText = typeof value === "string";
  for (const { path, message } of isText ? [] : problemsOf(parsed.error, [])) {
    context.addIssue({ code: "custom", message, path: path === "" ? [] : [path] });
  }
  if (isText) {
    const message = "expected a mapping, or a text such as p95 < 20 ms or look: p99 < 50 ms";
    context.addIssue({ code: "custom", message });
  }
  return z.NEVER;
});
export const slosSchema = list(sloSchema);

export const poolsSchema = z.record(
  text(100, "a pool's name"),
  z.array(poolValue, expected("a list of values")),
  expected("a mapping of pools"),
);

export const headSchema = fields({
  template_id: text(200).nullable().default(null),
  template_name: text(200, "a name").min(1, expected("a name")),
  description: text(4_000).default(""),
});

export const sectionNames = [
  "template_id",
  "template_name",
  "name",
  "description",
  "target",
  "workload",
  "scaling",
  "find_max",
  "guardrails",
  "slos",
  "verdict",
  "pools",
];

export function unknownSection(key: string): string {
  return unknownField(key, sectionNames);
}
