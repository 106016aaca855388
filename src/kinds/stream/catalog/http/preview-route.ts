/** `POST /api/v1/streams/preview`: the rows of a query as events, for as long as somebody looks. */
import { z } from "zod";
import {
  bodyOf,
  disconnectSignal,
  type InstallRoutes,
  problemOf,
  type SseChannel,
} from "../../../../ground/http/index.ts";
import { previewRowsMax } from "../../language/core/index.ts";
import {
  type OpenedPreview,
  type OpenPreview,
  type PreviewEvent,
  previewRowsDefault,
} from "../core/preview.ts";

const previewBody = z.object({
  statement: z.string().min(1).describe("SELECT … FROM …, with or without PREVIEW before it."),
  limit: z
    .number()
    .int()
    .min(1)
    .max(previewRowsMax)
    .default(previewRowsDefault)
    .describe("How many rows at most, unless LIMIT in the statement says it."),
});

export function previewRoute(open: OpenPreview): InstallRoutes {
  return (app, { streams }) => {
    app.route({
      method: "POST",
      url: "/api/v1/streams/preview",
      config: { access: "operate" },
      preValidation: async (request) => streams.checkRoom(request),
      schema: {
        summary: "Rows of a query as they come: columns, then rows, then end or error",
        description:
          "The query runs for as long as the connection is open, ten minutes at most. `rows` says how many rows were left out so far because they were read too slowly; `end` says why there are no more.",
        tags: ["streams-of-queries"],
        body: previewBody,
        response: { 200: z.string().describe("text/event-stream") },
      },
      handler: async (request, reply) => {
        const { statement, limit } = request.body as z.infer<typeof previewBody>;
        const gone = disconnectSignal(reply);
        const opened = await open({ text: statement, rowsMax: limit }, gone);
        await send(streams.open(reply), opened, request.id);
      },
    });
  };
}

async function send(
  channel: SseChannel,
  { queryId, columns, events }: OpenedPreview,
  requestId: string,
): Promise<void> {
  const leave = (): void => void events.return(undefined).catch(() => undefined);
  channel.signal.addEventListener("abort", leave, { once: true });
  if (channel.signal.aborted) leave();
  const say = (event: string, data: string): Promise<void> => channel.send({ event, data });
  try {
    await say("columns", JSON.stringify({ query_id: queryId, columns }));
    for await (const event of events) {
      const said = textOf(event);
      if (said !== undefined) await say(...said);
    }
  } catch (thrown) {
    await say("error", JSON.stringify(bodyOf(problemOf(thrown, requestId))));
  } finally {
    channel.end();
  }
}

/** The channel itself shows that it is alive while nothing comes. */
function textOf(event: PreviewEvent): [event: string, data: string] | undefined {
  switch (event.kind) {
    case "rows":
      return ["rows", `{"rows":[${event.lines.join(",")}],"left_out":${event.leftOut}}`];
    case "waiting":
      return ["waiting", JSON.stringify({ reason: event.reason })];
    case "end": {
      const { reason, rowCount, leftOut, durationMs, workerId } = event;
      const body = {
        ...{ reason, row_count: rowCount, left_out: leftOut },
        ...{ duration_ms: Math.round(durationMs), worker_id: workerId },
      };
      return ["end", JSON.stringify(body)];
    }
  }
}
