import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import type { ApiApp } from "../api-app.ts";
import type { Attention } from "../attention.ts";
import { LiveFeed } from "../http/live-feed.ts";
import { type EventSocket, refuseSocket } from "../http/socket-sink.ts";
import type { SseChannel } from "../http/sse-channel.ts";
import type { Streams } from "../http/streams.ts";
import type { ApiPorts, WatchMessage } from "../ports.ts";
import { problemOf } from "../problem.ts";
import { watchQuerySchema } from "../schemas.ts";

const tags = ["streams"];
const liveWorkersMax = 500;
const liveQueriesMax = 50;
const overWebSocket =
  "As a WebSocket (subprotocol `capstan`) each event is one message with the same text: browsers limit connections to a host, and do not count those.";
type WatchQuery = z.infer<typeof watchQuerySchema>;
const eventStream = { 200: z.string().describe("text/event-stream") };

export function installStreams(
  app: ApiApp,
  ports: ApiPorts,
  streams: Streams,
  attention: Attention,
): void {
  const live = new LiveFeed(ports.clock, ports.logger, async () => ({
    status: await ports.status(),
    workers: await ports.workers.list({ limit: liveWorkersMax, after: undefined }),
    queries: ports.queries.list().slice(0, liveQueriesMax),
    attention: await attention.read(),
  }));

  app.route({
    method: "GET",
    url: "/api/v1/live",
    config: { access: "read" },
    exposeHeadRoute: false,
    preValidation: async (request) => streams.checkRoom(request),
    schema: {
      summary: "Status, workers, queries and what needs attention once a second, as `live` events",
      description: overWebSocket,
      tags,
      response: eventStream,
    },
    handler: async (_request, reply) => {
      await live.add(streams.open(reply));
    },
    wsHandler: async (socket: EventSocket, request) => {
      await orRefuse(
        socket,
        request,
        async () => await live.add(streams.openSocket(socket, request)),
      );
    },
  });

  app.route({
    method: "GET",
    url: "/api/v1/watch",
    config: { access: "read" },
    exposeHeadRoute: false,
    preValidation: async (request) => streams.checkRoom(request), // Before there is a subscription to give back.
    schema: {
      summary: "A table of the catalog: a SNAPSHOT, then CREATE, UPDATE and DROP events",
      description: `The id of every event is its revision: send it back as Last-Event-ID, or as revision, to resume. ${overWebSocket}`,
      tags,
      querystring: watchQuerySchema,
      response: eventStream,
    },
    handler: async (request, reply) => {
      await watch(ports, request, request.query, () => streams.open(reply));
    },
    wsHandler: async (socket: EventSocket, request) => {
      const query = request.query as WatchQuery;
      const open = (): SseChannel => streams.openSocket(socket, request);
      await orRefuse(socket, request, async () => await watch(ports, request, query, open));
    },
  });
}

/** A WebSocket is open before anything can fail; so the failure is its only event. */
async function orRefuse(
  socket: EventSocket,
  request: FastifyRequest,
  serve: () => Promise<void>,
): Promise<void> {
  try {
    await serve();
  } catch (thrown) {
    refuseSocket(socket, problemOf(thrown, request.id));
  }
}

/** Throws what is wrong with the request before it calls `open`. */
async function watch(
  ports: ApiPorts,
  request: FastifyRequest,
  { table, select, revision }: WatchQuery,
  open: () => SseChannel,
): Promise<void> {
  const fromRevision = lastEventId(request.headers["last-event-id"]) ?? revisionOf(revision);
  const over = new AbortController();
  const messages = ports.watch({ table, select, fromRevision }, over.signal);
  const iterator = messages[Symbol.asyncIterator]();
  try {
    // The first message is awaited before the status line, so that a bad request is a 400.
    const first = fromRevision === undefined ? await iterator.next() : undefined;
    const channel = open();
    channel.signal.addEventListener("abort", () => over.abort(), { once: true });
    if (channel.signal.aborted) return;
    await forward(channel, first, iterator, ports, request.id);
  } finally {
    over.abort();
    // A source that waits in a `yield` does not look at the signal: it is told to clean up.
    await iterator.return?.();
  }
}

async function forward(
  channel: SseChannel,
  first: IteratorResult<WatchMessage> | undefined,
  iterator: AsyncIterator<WatchMessage>,
  ports: ApiPorts,
  requestId: string,
): Promise<void> {
  try {
    for (
      let step = first ?? (await iterator.next());
      step.done !== true && !channel.signal.aborted;
      step = await iterator.next()
    ) {
      await channel.send(sseOf(step.value));
    }
  } catch (thrown) {
    // The status line is out; the reason goes into the stream, and the client resumes by its last id.
    const { code, message } = problemOf(thrown, requestId);
    ports.logger.warn({ request_id: requestId, code, error: messageOf(thrown) }, "watch ended");
    await channel.send({ event: "error", data: JSON.stringify({ code, message }) });
  } finally {
    channel.end();
  }
}

function sseOf(message: WatchMessage): { event: string; id: string; data: string } {
  const event = message.type === "SNAPSHOT" ? "SNAPSHOT" : message.op;
  return { event, id: String(message.revision), data: JSON.stringify(message) };
}

function revisionOf(value: number | undefined): Revision | undefined {
  return value === undefined ? undefined : parseRevision(value);
}

function lastEventId(header: string | readonly string[] | undefined): Revision | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  const revision = /^\d{1,16}$/.test(header) ? parseRevision(Number(header)) : undefined;
  if (revision !== undefined) return revision;
  throw new OperatingError("bad_request", "never", "Last-Event-ID: must be a revision");
}
