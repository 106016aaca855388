import { z } from "zod";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import type { ApiApp } from "../api-app.ts";
import { LiveFeed } from "../http/live-feed.ts";
import type { SseChannel } from "../http/sse-channel.ts";
import type { Streams } from "../http/streams.ts";
import type { ApiPorts, WatchMessage } from "../ports.ts";
import { problemOf } from "../problem.ts";
import { watchQuerySchema } from "../schemas.ts";

const tags = ["streams"];
const liveWorkersMax = 500;
const liveQueriesMax = 50;
const eventStream = { 200: z.string().describe("text/event-stream") };

export function installStreams(app: ApiApp, ports: ApiPorts, streams: Streams): void {
  const live = new LiveFeed(ports.clock, ports.logger, async () => ({
    status: await ports.status(),
    workers: await ports.workers.list({ limit: liveWorkersMax, after: undefined }),
    queries: ports.queries.list().slice(0, liveQueriesMax),
  }));

  app.get(
    "/api/v1/live",
    {
      config: { access: "read" },
      exposeHeadRoute: false,
      schema: {
        summary: "Status, workers and queries once a second, as `live` events",
        tags,
        response: eventStream,
      },
    },
    async (_request, reply) => {
      await live.add(streams.open(reply));
    },
  );

  app.get(
    "/api/v1/watch",
    {
      config: { access: "read" },
      exposeHeadRoute: false,
      schema: {
        summary: "A table of the catalog: a SNAPSHOT, then CREATE, UPDATE and DROP events",
        description:
          "The id of every event is its revision: send it back as Last-Event-ID, or as revision, to resume.",
        tags,
        querystring: watchQuerySchema,
        response: eventStream,
      },
    },
    async (request, reply) => {
      const { table, select, revision } = request.query;
      const fromRevision = lastEventId(request.headers["last-event-id"]) ?? revisionOf(revision);
      streams.checkRoom(); // Before there is a subscription to give back.
      const over = new AbortController();
      const messages = ports.watch({ table, select, fromRevision }, over.signal);
      const iterator = messages[Symbol.asyncIterator]();
      try {
        // The first message is awaited before the status line, so that a bad request is a 400.
        const first = fromRevision === undefined ? await iterator.next() : undefined;
        const channel = streams.open(reply);
        channel.signal.addEventListener("abort", () => over.abort(), { once: true });
        await forward(channel, first, iterator, ports, request.id);
      } finally {
        over.abort();
        // A source that waits in a `yield` does not look at the signal: it is told to clean up.
        await iterator.return?.();
      }
    },
  );
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
