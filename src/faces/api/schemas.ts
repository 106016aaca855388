/** The API's bodies as zod schemas, which check requests and generate OpenAPI. */
import { z } from "zod";
import { queryRecordSchema } from "../../data/statements/index.ts";
import { attentionItemSchema } from "../../ground/http/index.ts";

export const partSchema = z.object({
  name: z.string(),
  state: z.enum(["ok", "degraded", "failed"]),
  reason: z.string().optional().describe("Absent while it is ok."),
  since_ms: z.number().describe("When the state began."),
  vital: z.boolean().describe("Whether nothing can be served here once it failed."),
});

const partsSchema = z
  .array(partSchema)
  .describe("How the parts of the answering process are, by name.");

export const readySchema = z.object({
  ready: z.boolean(),
  role: z.enum(["leader", "standby", "query_api"]),
  reason: z.string().optional(),
  parts: partsSchema,
});

export const statusSchema = z
  .object({
    version: z.string(),
    role: z.enum(["leader", "standby", "query_api"]),
    lease: z
      .object({ holder: z.string(), epoch: z.int(), api_url: z.string() })
      .nullable()
      .describe("Who coordinates, as far as this process knows."),
    store: z.object({ dialect: z.string(), schema_version: z.int() }).nullable(),
    workers: z.object({ active: z.int(), unreachable: z.int(), draining: z.int() }),
    queries: z
      .object({
        running: z.int(),
        queued: z.int(),
        completed_total: z.int(),
        failed_total: z.int(),
        oldest_age_ms: z.number(),
      })
      .describe("Of the answering process."),
    stored_files: z
      .object({ damaged: z.int(), unverified: z.int() })
      .nullable()
      .describe(
        "Files of tables, and segments: as the scrub last found them. Null where this process has not looked yet, or does not.",
      ),
    parts: partsSchema,
    started_at_ms: z.number(),
    uptime_ms: z.number(),
  })
  .meta({ id: "ClusterStatus" });

export const attentionSchema = z
  .object({
    total: z.int(),
    items: z.array(attentionItemSchema).describe("The first hundred, the worst first."),
  })
  .meta({ id: "AttentionList" });

export const liveSchema = z
  .object({
    session: z.boolean(),
    rtt_ms: z.number().nullable(),
    last_answer_ms_ago: z.number().nullable(),
    facts: z.record(z.string(), z.string()),
  })
  .describe("What the answering process sees of the worker through its own session.");

export const workerSchema = z
  .object({
    worker_id: z.string(),
    host_name: z.string(),
    grpc_port: z.int(),
    data_port: z.int(),
    capacity: z.int(),
    state: z.enum(["ACTIVE", "UNREACHABLE"]),
    state_reason: z.string(),
    state_changed_at_ms: z.number(),
    drain_requested: z.boolean(),
    accepting_work: z.boolean(),
    draining: z.boolean(),
    incarnation: z.string(),
    software_version: z.string(),
    registered_at_ms: z.number(),
    live: liveSchema.nullable(),
  })
  .meta({ id: "Worker" });

export const workersPageSchema = z.object({
  items: z.array(workerSchema),
  next_page_token: z.string().nullable(),
});

export const liveFrameSchema = z
  .object({
    status: statusSchema,
    workers: z.array(workerSchema),
    queries: z.array(queryRecordSchema),
    attention: attentionSchema,
  })
  .meta({ id: "LiveFrame", description: "The data of each `live` event." });

const port = z.int().min(1).max(65_535);

export const registrationSchema = z.object({
  worker_id: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9-]{0,62}$/,
      "must be lower-case letters, digits and hyphens, 63 at most",
    ),
  host_name: z.string().min(1).max(253),
  grpc_port: port,
  data_port: port,
  capacity: z.int().min(1).max(100_000),
  incarnation: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/, "is not an incarnation"),
  software_version: z.string().min(1).max(100),
});

export const queueSchema = z.object({
  queue_depth: z
    .int()
    .describe(
      "Everything that waits: queries, works that no worker has accepted, works in workers' queues.",
    ),
  oldest_age_seconds: z.number(),
});

export type AttentionBody = z.infer<typeof attentionSchema>;
export type StatusBody = z.infer<typeof statusSchema>;
export type ReadyBody = z.infer<typeof readySchema>;
export type PartBody = z.infer<typeof partSchema>;
export type WorkerBody = z.infer<typeof workerSchema>;
export type LiveBody = z.infer<typeof liveSchema>;
export type RegistrationBody = z.infer<typeof registrationSchema>;
