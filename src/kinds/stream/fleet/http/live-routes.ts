/** What a query does at this moment. Only the coordinator that leads hears of it. */
import { z } from "zod";
import { type InstallRoutes, onlyFields, routeUnder } from "../../../../ground/http/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { fragmentStates } from "../../catalog/core/index.ts";
import type { LiveQueryBody } from "../core/live-body.ts";

/** Throws `not_leader` on any other process. */
export type ReadLiveQuery = (name: string) => Promise<LiveQueryBody>;

const count = z.number().nullable();
const perSecond = z.number().nullable();
const ratio = z.number().min(0).max(1).nullable();
const moment = z.number().nullable().describe("Milliseconds since 1970.");
const eventTime = z.number().nullable().describe("Event time in milliseconds.");
const lag = z
  .number()
  .nullable()
  .describe("How far event time is behind the clock; null where it is no time of a clock.");

const liveFragmentSchema = z
  .object({
    fragment: z.string(),
    worker_id: z.string(),
    state: z.enum(fragmentStates),
    operators: z.array(z.string()).readonly(),
    sources: z.array(z.string()).readonly(),
    sinks: z.array(z.string()).readonly(),
    rows_in: count.describe("From sources and from other fragments, in this epoch."),
    rows_out: count.describe("To sinks and to other fragments, in this epoch."),
    rows_in_per_second: perSecond,
    rows_out_per_second: perSecond,
    bytes_in_per_second: perSecond.describe("From sources."),
    bytes_out_per_second: perSecond.describe("To other fragments and to sinks."),
    late_rows: count,
    malformed_rows: count,
    state_bytes: count.describe("With its buffers and edges."),
    watermark_ms: eventTime,
    watermark_lag_ms: lag,
    busy_ratio: ratio.describe("The share of time at work on its thread."),
    backpressure_ratio: ratio.describe("The share of time it waited for room behind it."),
    told_at_ms: moment,
  })
  .meta({ id: "LiveFragment" });

const liveEdgeSchema = z
  .object({
    from: z.string(),
    to: z.string(),
    rows_per_second: perSecond,
    backlog_bytes: count.describe(
      "Sent, and not known to be taken; between workers that is told in steps of 128 KiB.",
    ),
    backpressure_ratio: ratio,
    watermark_ms: eventTime,
    watermark_lag_ms: lag,
  })
  .meta({ id: "LiveEdge" });

const liveCheckpointSchema = z
  .object({
    checkpoint: z.int(),
    epoch: z.int(),
    begun_at_ms: z.number(),
    duration_ms: z.number(),
    bytes: z.number(),
    savepoint: z.boolean(),
  })
  .meta({ id: "LiveCheckpoint" });

export const liveQuerySchema = z
  .object({
    query_id: z.string(),
    epoch: z.int(),
    at_ms: z.number(),
    fragments: z
      .array(liveFragmentSchema)
      .readonly()
      .describe("Figures that are older than 5 s are null."),
    edges: z.array(liveEdgeSchema).readonly(),
    checkpoints: z
      .array(liveCheckpointSchema)
      .readonly()
      .describe("Those that are kept, the newest first, at most 20."),
    held_back_by: z
      .object({
        fragment: z.string(),
        source: z.string().nullable(),
        watermark_ms: eventTime,
        reason: z.string(),
      })
      .nullable()
      .describe("What holds the watermark of the sinks back; null without event time."),
  })
  .meta({ id: "LiveQuery" });

/** As many as a list shows; each costs a few reads of the catalog. */
const queriesMax = 30;
const several = onlyFields({
  queries: z
    .string()
    .min(1)
    .max(10_000)
    .transform((text) => text.split(",").map((name) => name.trim()))
    .pipe(z.array(z.string().min(1)).max(queriesMax))
    .describe(`Their ids or names, separated by commas; ${queriesMax} at most.`),
});

export function liveRoutes(read: ReadLiveQuery): InstallRoutes {
  const route = routeUnder("streams-of-queries");
  const params = z.object({ name: z.string().max(300) });
  const summary = "What a continuous query does at this moment";
  return (app) => {
    app.get(
      "/api/v1/streams/queries/:name/live",
      route("read", summary, liveQuerySchema, { params }),
      async (request) => await read(request.params.name),
    );
    app.get(
      "/api/v1/streams/live",
      route(
        "read",
        "What several continuous queries do at this moment; those that are gone are left out",
        z.object({ items: z.array(liveQuerySchema) }),
        { querystring: several },
      ),
      async (request) => {
        const found = await Promise.all(
          request.query.queries.map((name) => read(name).catch(unlessGone)),
        );
        return { items: found.filter((each) => each !== undefined) };
      },
    );
  };
}

function unlessGone(thrown: unknown): undefined {
  if (thrown instanceof OperatingError && thrown.code === "DoesNotExist") return undefined;
  throw thrown;
}
