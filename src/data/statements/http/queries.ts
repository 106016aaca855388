import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { disconnectSignal, nameQuery } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseQueryId } from "../../../ground/kernel/ids.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { QueriesPort } from "./queries-port.ts";
import { queriesPageSchema, sqlRequestSchema } from "./schemas.ts";

const tags = ["queries"];
const ndjson = z
  .string()
  .describe(
    "application/x-ndjson: {query_id, columns}, one array for each row, then {summary} or {error}.",
  );

export function installQueries(app: ApiApp, queries: QueriesPort, prng: Prng): void {
  app.post(
    "/api/v1/sql",
    {
      config: { access: "read" },
      bodyLimit: 1024 * 1024 + 4096, // The longest statement and its JSON.
      schema: {
        summary:
          "Run one statement and stream its rows; what changes something needs the role operate",
        tags,
        body: sqlRequestSchema,
        response: { 200: ndjson },
      },
      serializerCompiler: () => (value) => JSON.stringify(value),
    },
    async (request, reply) => {
      const { sql, timeout_ms: timeoutMs, upload_id: uploadId } = request.body;
      const { traceparent } = request.headers;
      const { stream } = await queries.sql(
        sql,
        {
          queryId: nameQuery(reply, prng),
          timeoutMs,
          traceparent: typeof traceparent === "string" ? traceparent : undefined,
          mayWrite: request.mayOperate === true,
          uploadId,
        },
        disconnectSignal(reply),
      );
      reply.type("application/x-ndjson");
      const streamed: FastifyReply = reply; // The schema describes text; this is a stream.
      return await streamed.send(Readable.from(stream, { objectMode: false }));
    },
  );

  app.get(
    "/api/v1/queries",
    {
      config: { access: "read" },
      schema: {
        summary: "Queries of this process: running ones, then the latest that ended",
        tags,
        querystring: z.object({ limit: z.coerce.number().int().min(1).max(500).default(100) }),
        response: { 200: queriesPageSchema },
      },
    },
    async (request) => ({
      items: queries.list().slice(0, request.query.limit),
      next_page_token: null, // One page holds the few hundred that are kept.
    }),
  );

  app.delete(
    "/api/v1/queries/:id",
    {
      config: { access: "operate" },
      schema: {
        summary: "Cancel a running query",
        tags,
        params: z.object({ id: z.string() }),
        response: { 200: z.object({ query_id: z.string() }) },
      },
    },
    async (request) => {
      const queryId = parseQueryId(request.params.id);
      if (queryId !== undefined && queries.cancel(queryId)) return { query_id: queryId };
      throw new OperatingError(
        "not_found",
        "never",
        `no query ${JSON.stringify(request.params.id)} is running here`,
        { hint: "It may have ended, or run on another replica." },
      );
    },
  );
}
