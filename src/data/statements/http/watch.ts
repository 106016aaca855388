/** `/api/v1/watch`: a table of the catalog, then its changes. */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import {
  type ApiApp,
  bodyOf,
  type EventSocket,
  type HttpContext,
  orRefuse,
  overWebSocket,
  problemOf,
  type SseChannel,
} from "../../../ground/http/index.ts";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { parseRevision, type Revision } from "../../../ground/kernel/ids.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import { watchQuerySchema } from "./schemas.ts";
import { type WatchMessage, type WatchRequest, watchMessageSchema } from "./watch-messages.ts";

export interface WatchPort {
  /** A SNAPSHOT, then events, until `signal` aborts. Throws `bad_request` on bad requests. */
  watch(request: WatchRequest, signal: AbortSignal): AsyncIterable<WatchMessage>;
}

interface WatchDeps {
  readonly catalog: WatchPort;
  readonly logger: Logger;
}

type WatchQuery = z.infer<typeof watchQuerySchema>;
const tags = ["streams"];

export function installWatch(
  app: ApiApp,
  catalog: WatchPort,
  { streams, logger }: HttpContext,
): void {
  const deps = { catalog, logger };
  app.route({
    method: "GET",
    url: "/api/v1/watch",
    config: { access: "read" },
    exposeHeadRoute: false,
    preValidation: async (request) => streams.checkRoom(request), // Before a subscription exists.
    schema: {
      summary: "A table of the catalog: a SNAPSHOT, then CREATE, UPDATE and DROP events",
      description: `The id of every event is its revision: send it back as Last-Event-ID, or as revision, to resume. ${overWebSocket}`,
      tags,
      querystring: watchQuerySchema,
      response: { 200: watchMessageSchema },
    },
    handler: async (request, reply) => {
      await watch(deps, request, request.query, () => streams.open(reply));
    },
    wsHandler: async (socket: EventSocket, request) => {
      const query = request.query as WatchQuery;
      const open = (): SseChannel => streams.openSocket(socket, request);
      await orRefuse(socket, request, async () => await watch(deps, request, query, open));
    },
  });
}

/** Throws errors of the request before it calls `open`. */
async function watch(
  { catalog, logger }: WatchDeps,
  request: FastifyRequest,
  { table, select, revision }: WatchQuery,
  open: () => SseChannel,
): Promise<void> {
  const fromRevision = lastEventId(request.headers["last-event-id"]) ?? revisionOf(revision);
  const over = new AbortController();
  const messages = catalog.watch({ table, select, fromRevision }, over.signal);
  const iterator = messages[Symbol.asyncIterator]();
  try {
    // The first message is awaited before the status line, so that a bad request is a 400.
    const first = fromRevision === undefined ? await iterator.next() : undefined;
    const channel = open();
    channel.signal.addEventListener("abort", () => over.abort(), { once: true });
    if (channel.signal.aborted) return;
    await forward(channel, first, iterator, logger, request.id);
  } finally {
    over.abort();
    // A source that waits in a `yield` does not see the signal, so it is told to clean up.
    await iterator.return?.();
  }
}

async function forward(
  channel: SseChannel,
  first: IteratorResult<WatchMessage> | undefined,
  iterator: AsyncIterator<WatchMessage>,
  logger: Logger,
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
    // The status line is sent, so the error goes into the stream; the client resumes by its last
    // id.
    const problem = problemOf(thrown, requestId);
    const { code } = problem;
    logger.warn({ request_id: requestId, code, error: messageOf(thrown) }, "watch ended");
    await channel.send({ event: "error", data: JSON.stringify(bodyOf(problem)) });
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
