import type { ApiApp, Streams } from "../../../ground/http/index.ts";
import { type EventSocket, LiveFeed, orRefuse, overWebSocket } from "../../../ground/http/index.ts";
import type { Attention } from "../attention.ts";
import type { ApiPorts } from "../ports.ts";
import { liveFrameSchema } from "../schemas.ts";

const tags = ["streams"];
const liveWorkersMax = 500;
const liveQueriesMax = 50;

export function installLive(
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
      response: { 200: liveFrameSchema },
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
}
