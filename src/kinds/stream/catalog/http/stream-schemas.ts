/**
 * Sources, sinks, queries and workers of streams, as the API gives and takes them.
 */
import { z } from "zod";
import { onlyFields } from "../../../../ground/http/index.ts";
import { queryDetails } from "../core/query-detail.ts";
import { desiredStates, fragmentStates, queryStates, stopModes } from "../core/states.ts";

const moment = z.number().describe("Milliseconds since 1970, by the database's clock.");
const settings = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe("By key. Secrets are references.");
const typeName = z.enum([
  "INT8",
  "INT16",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT32",
  "UINT64",
  "FLOAT32",
  "FLOAT64",
  "BOOLEAN",
  "CHAR",
  "VARSIZED",
]);
const field = z
  .object({
    name: z.string(),
    type: z.object({ name: typeName, nullable: z.boolean() }),
  })
  .meta({ id: "StreamField" });

export const streamSourceSchema = z
  .object({
    source_id: z.string(),
    name: z.string(),
    kind: z.enum(["LOGICAL", "DERIVED", "VIEW", "SYSTEM"]),
    schema: z.array(field),
    watermark: z.object({ column: z.int(), boundMs: z.number() }).nullable(),
    definition: z.string().nullable().describe("The query of a derived source or a view."),
    created_at_ms: moment,
  })
  .meta({ id: "StreamSource" });

export const physicalSourceSchema = z
  .object({
    physical_source_id: z.string(),
    logical_source: z.string(),
    type: z.string(),
    config: settings,
    parser: settings,
    worker_id: z.string().nullable().describe("Null: any worker may read it."),
    created_at_ms: moment,
  })
  .meta({ id: "PhysicalSource" });

export const sinkSchema = z
  .object({
    sink_id: z.string(),
    name: z.string(),
    schema: z.array(field).nullable().describe("Null: it takes whatever a query gives."),
    type: z.string(),
    config: settings,
    formatter: settings,
    worker_id: z.string().nullable(),
    created_at_ms: moment,
  })
  .meta({ id: "StreamSink" });

const queryState = z.enum(queryStates).meta({ id: "StreamQueryState" });
const fragmentState = z.enum(fragmentStates).meta({ id: "StreamFragmentState" });

const queryFields = {
  query_id: z.string(),
  name: z.string().nullable(),
  state: queryState,
  detail: z
    .enum(queryDetails)
    .nullable()
    .describe("Some fragments run and others do not yet; or a stop waits for a lost worker."),
  state_reason: z.string(),
  desired_state: z.enum(desiredStates),
  stop_mode: z.enum(stopModes).nullable(),
  epoch: z.int().describe("Increases with each deployment."),
  superseded_by: z
    .string()
    .nullable()
    .describe("The query that has its name, and begins when this one is gone."),
  guarantee: z.string(),
  is_preview: z.boolean().describe("It shows rows to somebody, and is gone when nobody looks."),
  error: z
    .object({
      code: z.string(),
      number: z.int().nullable(),
      worker_id: z.string().nullable(),
    })
    .nullable(),
  fragments: z.record(z.string(), z.int()).describe("How many are in each state."),
  statement: z.string(),
  created_at_ms: moment,
  state_changed_at_ms: moment,
};

export const streamQuerySchema = z.object(queryFields).meta({ id: "StreamQuery" });

export const streamQueryDetailSchema = z
  .object({
    ...queryFields,
    logical_sources: z.array(z.string()).readonly(),
    physical_sources: z
      .array(z.string())
      .readonly()
      .describe("Those that there were when it was planned."),
    sinks: z.array(z.string()).readonly(),
    deployed: z
      .array(
        z.object({
          fragment: z.string(),
          worker_id: z.string(),
          is_pinned: z.boolean(),
          epoch: z.int(),
          state: fragmentState,
          state_reason: z.string(),
          state_changed_at_ms: moment,
        }),
      )
      .readonly(),
    history: z
      .array(
        z.object({
          number: z.int(),
          epoch: z.int(),
          from_state: z.string(),
          to_state: queryState.nullable(),
          reason: z.string(),
          at_ms: moment,
        }),
      )
      .readonly()
      .describe("State changes, the newest last."),
  })
  .meta({ id: "StreamQueryDetail" });

export const streamWorkerSchema = z
  .object({
    worker_id: z.string(),
    label: z.string().nullable().describe("The name that CREATE WORKER gave it."),
    host: z.string(),
    grpc_port: z.int(),
    data_port: z.int(),
    state: z.enum(["ACTIVE", "UNREACHABLE"]),
    state_reason: z.string(),
    draining: z.boolean(),
    slots: z.int(),
    slots_used: z.int(),
    peers: z
      .array(z.string())
      .describe("The workers that it sends to; without any, it reaches all."),
  })
  .meta({ id: "StreamWorker" });

export function pageOfSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_page_token: z.string().nullable() });
}

export const createdSchema = z.object({
  id: z.string(),
  name: z.string().nullable(),
  existed: z.boolean().describe("It was there, and IF NOT EXISTS was asked for."),
});

export function droppedSchema<Row extends z.ZodType>(row: Row) {
  return z.object({ dropped: row.nullable().describe("Null: there was nothing.") });
}

/** What became of a request about a query, and how far it got where the caller waited. */
export const acceptedSchema = z.object({
  query_id: z.string().nullable().describe("Null: there is no such query."),
  name: z.string().nullable(),
  replaced: z
    .object({ query_id: z.string(), state: queryState })
    .nullable()
    .describe("The query that it takes the place of, when that is gone."),
  query: streamQuerySchema.nullable().describe("As it is now; null when it is gone."),
});

const common = {
  if_not_exists: z.boolean().default(false),
  request_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("A repeated request with this id gets the first one's answer."),
};
const name = z.string().min(1).max(255);
const givenSettings = z.record(z.string().max(300), z.union([z.string(), z.number(), z.boolean()]));
/** A type that does not exist is refused by the statement, as InvalidSchema. */
const givenType = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/)
  .describe(`One of ${typeName.options.join(", ")}.`);
const givenSchema = z
  .array(onlyFields({ name, type: givenType, nullable: z.boolean().default(true) }))
  .max(10_000);

export const createSourceSchema = onlyFields({
  name,
  schema: givenSchema,
  watermark: onlyFields({ column: name, bound_ms: z.int().min(0) }).optional(),
  ...common,
});

export const createPhysicalSourceSchema = onlyFields({
  logical_source: name,
  type: name,
  config: givenSettings.default({}),
  parser: givenSettings.default({}),
  worker: name.optional().describe("Its id, its label, its address, or a host that is unique."),
  ...common,
});

export const createSinkSchema = onlyFields({
  name,
  schema: givenSchema.optional(),
  type: name,
  config: givenSettings.default({}),
  formatter: givenSettings.default({}),
  worker: name.optional(),
  ...common,
});

export const createQuerySchema = onlyFields({
  name: name.optional(),
  statement: z.string().min(1).max(131_072).describe("SELECT … INTO sink, or CREATE QUERY …."),
  or_replace: z
    .boolean()
    .default(false)
    .describe("Takes the place of the query that has the name, with fresh state."),
  settings: givenSettings
    .optional()
    .describe('Those of the query, as CHECKPOINT_INTERVAL: "5 SEC"; or SET in the statement.'),
  from_checkpoint: onlyFields({
    checkpoint: z.int().min(1),
    query: name.optional().describe("Its name or id; where it is absent, the query's own name."),
  })
    .optional()
    .describe("The state that it begins with, which has to fit."),
  ...common,
});

export const createWorkerSchema = onlyFields({
  label: name.optional(),
  host: name,
  grpc_port: z.int(),
  data_port: z.int().optional(),
  slots: z.int().min(0).max(1_000_000).default(1_000),
  peers: z.array(name).max(1_000).default([]),
  ...common,
});

export const bundleSchema = onlyFields({
  statements: z.array(z.string().min(1).max(131_072)).min(1).max(1_000),
  request_id: common.request_id,
});

export const bundleAnswerSchema = z.object({
  answers: z.array(
    z.object({
      object: z.string(),
      id: z.string().nullable(),
      name: z.string().nullable(),
      status: z.string(),
    }),
  ),
});

/** Everything that was asked for, as of one moment. */
export const catalogSnapshotSchema = z
  .object({
    revision: z.int().describe("Of the catalog; WATCH goes on from it."),
    now_ms: moment,
    sources: z.array(streamSourceSchema).optional(),
    views: z.array(streamSourceSchema).optional(),
    physical_sources: z.array(physicalSourceSchema).optional(),
    sinks: z.array(sinkSchema).optional(),
    queries: z.array(streamQuerySchema).optional(),
    workers: z.array(streamWorkerSchema).optional(),
  })
  .meta({ id: "StreamSnapshot" });
