/** Routes for queries, and for questions about a query that do not run it. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ApiApp, SseChannel, Streams } from "../../../ground/http/index.ts";
import { disconnectSignal, namesQuery, queryIdOf } from "../../../ground/http/index.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { PromqlEvent, PromqlRequest, PromqlService } from "../run/index.ts";
import { badData, badParameter, prometheusProblemOf, sendSuccess } from "./answers.ts";
import { durationOf, formOf, limitOf, timeOf } from "./form.ts";

const pointsMax = 11_000;

export interface QueryRouteDeps {
  readonly promql: PromqlService;
  readonly streams: Streams;
  readonly prng: Prng;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

export function installQueryRoutes(app: ApiApp, deps: QueryRouteDeps): void {
  const { promql, streams, prng, nowMs } = deps;
  const both = (path: string, summary: string, handler: Handler, hooks: object = {}): void => {
    app.route({
      ...hooks,
      method: ["GET", "POST"],
      url: path,
      config: { access: "read" },
      schema: { summary, tags: ["prometheus"] },
      handler,
    });
  };
  const query = (path: string, summary: string, handler: Handler): void =>
    both(path, summary, handler, namesQuery(prng));
  const answer = async (reply: FastifyReply, request: PromqlRequest): Promise<FastifyReply> => {
    const named = { ...request, queryId: queryIdOf(reply) };
    const { json, sent } = await promql.query(named, disconnectSignal(reply));
    if (reply.raw.closed) sent?.();
    else reply.raw.once("close", () => sent?.());
    return reply.type("application/json").send(json);
  };

  query("/api/v1/query", "Evaluate an instant query", async (request, reply) => {
    const form = formOf(request);
    const at = { timeMs: timeOf(form, "time", nowMs()) };
    return await answer(reply, { at, ...common(form, request) });
  });
  query("/api/v1/query_range", "Evaluate a range query", async (request, reply) => {
    const form = formOf(request);
    return await answer(reply, { at: rangeOf(form), ...common(form, request) });
  });
  query(
    "/api/v1/query_stream",
    "Evaluate a query, its results as events",
    async (request, reply) => {
      const form = formOf(request);
      const at = form.has("start") ? rangeOf(form) : { timeMs: timeOf(form, "time", nowMs()) };
      streams.checkRoom(request);
      const asked = { at, ...common(form, request), queryId: queryIdOf(reply) };
      const events = await promql.stream(asked, disconnectSignal(reply));
      void pump(events, await channelFor(events, streams, reply), request.id);
      return reply;
    },
  );
  query("/api/v1/query_explain", "Say how a query would be answered", async (request, reply) => {
    const form = formOf(request);
    const at = form.has("start") ? rangeOf(form) : { timeMs: timeOf(form, "time", nowMs()) };
    const asked = { at, ...common(form, request), queryId: queryIdOf(reply) };
    return sendSuccess(reply, await promql.explain(asked, disconnectSignal(reply)));
  });
  both("/api/v1/format_query", "Format a query", async (request, reply) =>
    sendSuccess(
      reply,
      await promql.format(formOf(request).get("query") ?? "", disconnectSignal(reply)),
    ),
  );
  both("/api/v1/parse_query", "Parse a query into its tree", async (request, reply) =>
    sendSuccess(
      reply,
      await promql.parse(formOf(request).get("query") ?? "", disconnectSignal(reply)),
    ),
  );
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function rangeOf(form: URLSearchParams): { startMs: number; endMs: number; stepMs: number } {
  const startMs = timeOf(form, "start", undefined);
  const endMs = timeOf(form, "end", undefined);
  if (endMs < startMs) throw badParameter("end", "end timestamp must not be before start time");
  const stepMs = durationOf(form, "step");
  if (stepMs === undefined) {
    throw badParameter("step", 'cannot parse "" to a valid duration');
  }
  if (stepMs < 1) {
    const reason =
      "zero or negative query resolution step widths are not accepted. Try a positive integer";
    throw badParameter("step", reason);
  }
  if ((endMs - startMs) / stepMs > pointsMax) throw tooFine();
  return { startMs, endMs, stepMs: Math.trunc(stepMs) };
}

function common(form: URLSearchParams, request: FastifyRequest): Omit<PromqlRequest, "at"> {
  const { traceparent } = request.headers;
  return {
    query: form.get("query") ?? "",
    limit: limitOf(form),
    timeoutMs: durationOf(form, "timeout"),
    lookbackMs: durationOf(form, "lookback_delta", badLookback),
    stats: (form.get("stats") ?? "") !== "",
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
  };
}

const badLookback = (reason: string): Error =>
  badData(`error parsing lookback delta duration: ${reason}`);

/** Ends the query when no channel can be opened for its events. */
async function channelFor(
  events: AsyncIterable<PromqlEvent>,
  streams: Streams,
  reply: FastifyReply,
): Promise<SseChannel> {
  try {
    return streams.open(reply);
  } catch (thrown) {
    for await (const _ of events) break; // Leaving ends the query.
    throw thrown;
  }
}

/** The last event is always `done` or `error`. */
async function pump(
  events: AsyncIterable<PromqlEvent>,
  channel: SseChannel,
  requestId: string,
): Promise<void> {
  try {
    for await (const event of events) {
      if (channel.signal.aborted) break;
      await channel.send({ event: event.event, data: dataOf(event) });
    }
  } catch (thrown) {
    const { errorType, message } = prometheusProblemOf(thrown, requestId);
    await channel.send({ event: "error", data: JSON.stringify({ errorType, error: message }) });
  } finally {
    channel.end();
  }
}

function dataOf(event: PromqlEvent): string {
  switch (event.event) {
    case "result":
      return event.json;
    case "summary":
      return JSON.stringify(event.summary);
    case "error":
      return JSON.stringify({ errorType: event.errorType, error: event.error });
    case "done":
      return "{}";
  }
}

function tooFine(): Error {
  return badData(
    "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
  );
}
