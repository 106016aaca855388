/** Routes of the lake's tables and of dynamic tables. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import { timeoutMsMax } from "../../../data/statements/index.ts";
import type { ApiApp } from "../../../ground/http/index.ts";
import {
  disconnectSignal,
  nameQuery,
  pageQuerySchema,
  routeUnder,
} from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import {
  dynamicTableDetailSchema,
  dynamicTablesPageSchema,
  historyPageSchema,
  lagSchema,
  tableSchema,
  tablesPageSchema,
} from "./table-schemas.ts";
import type { TablesPort, TableVerb } from "./tables-port.ts";

const route = routeUnder("tables");
const nameParams = z.object({
  name: z.string().describe("As statements name it: orders, sales.orders."),
});
const done = z.object({ name: z.string() });
const hourMs = 3_600_000;

export function installTables(app: ApiApp, tables: TablesPort, prng: Prng): void {
  app.get(
    "/api/v1/tables",
    route(
      "read",
      "Tables of the lake, plain and dynamic, with their columns and sizes",
      tablesPageSchema,
      { querystring: pageQuerySchema },
    ),
    async (request) => {
      const { snapshot, items } = await tables.list();
      return { snapshot, ...pageOf(items, request.query) };
    },
  );

  app.get(
    "/api/v1/tables/:name",
    route("read", "One table of the lake", tableSchema, { params: nameParams }),
    async (request) => {
      const { items } = await tables.list();
      const found = items.find(({ name }) => name === request.params.name);
      if (found === undefined) throw unknownTable(request.params.name, "table", "SHOW TABLES");
      return found;
    },
  );

  app.get(
    "/api/v1/tables/:name/rows",
    {
      ...route(
        "read",
        "Some rows of a table, in no order, as /api/v1/sql sends them",
        z.string().describe("application/x-ndjson, as of /api/v1/sql."),
        {
          params: nameParams,
          querystring: z.object({ limit: z.coerce.number().int().min(1).max(1000).default(100) }),
        },
      ),
      serializerCompiler: () => (value) => JSON.stringify(value),
    },
    async (request, reply) => {
      const { name } = request.params;
      const { limit } = request.query;
      const queryId = nameQuery(reply, prng);
      const preview = await tables.preview(name, { limit, queryId }, disconnectSignal(reply));
      if (preview === undefined) throw unknownTable(name, "table", "SHOW TABLES");
      reply.type("application/x-ndjson");
      const streamed: FastifyReply = reply; // The schema describes the stream's text.
      return await streamed.send(Readable.from(preview.stream, { objectMode: false }));
    },
  );

  installDynamicTables(app, tables, prng);
}

function installDynamicTables(app: ApiApp, tables: TablesPort, prng: Prng): void {
  app.get(
    "/api/v1/dynamic-tables",
    route(
      "read",
      "Dynamic tables: status, lag and target, mode and why, last refresh, next",
      dynamicTablesPageSchema,
      { querystring: pageQuerySchema },
    ),
    async (request) => {
      const { nowMs, items } = await tables.listDynamic();
      return { now_ms: nowMs, ...pageOf(items, request.query) };
    },
  );

  app.get(
    "/api/v1/dynamic-tables/:name",
    route(
      "read",
      "One dynamic table, with its definition, columns and size",
      dynamicTableDetailSchema,
      { params: nameParams },
    ),
    async (request) => {
      const found = await tables.getDynamic(request.params.name);
      if (found === undefined) throw unknownDynamicTable(request.params.name);
      return found;
    },
  );

  app.get(
    "/api/v1/dynamic-tables/:name/history",
    route("read", "Its refreshes, the newest first", historyPageSchema, {
      params: nameParams,
      querystring: pageQuerySchema.extend({
        page_token: z.coerce.number().int().min(1).optional(),
      }),
    }),
    async (request) => {
      const { limit, page_token: before } = request.query;
      const items = await tables.history(request.params.name, { limit, before });
      if (items === undefined) throw unknownDynamicTable(request.params.name);
      // A full page may be the last one. The next page is then empty.
      const last = items.length < limit ? undefined : items.at(-1);
      return { items: [...items], next_page_token: last === undefined ? null : `${last.number}` };
    },
  );

  app.get(
    "/api/v1/dynamic-tables/:name/lag",
    route("read", "How old its contents were over time, from its refreshes", lagSchema, {
      params: nameParams,
      querystring: z.object({
        window_ms: z.coerce
          .number()
          .int()
          .min(1_000)
          .max(30 * 24 * hourMs)
          .default(hourMs),
      }),
    }),
    async (request) => {
      const found = await tables.lag(request.params.name, request.query.window_ms);
      if (found === undefined) throw unknownDynamicTable(request.params.name);
      return found;
    },
  );

  for (const [verb, summary] of [
    ["suspend", "Refresh it no more, nor what reads it, until it is resumed"],
    ["resume", "Refresh it again, and what was suspended for its sake"],
  ] as const) {
    app.post(
      `/api/v1/dynamic-tables/:name/${verb}`,
      route("operate", summary, done, { params: nameParams }),
      async (request, reply) => await change(request.params.name, verb, reply),
    );
  }

  app.post(
    "/api/v1/dynamic-tables/:name/refresh",
    route(
      "operate",
      "Refresh it now; with wait=true the answer comes when it is fresh, or says why not",
      done,
      {
        params: nameParams,
        querystring: z.object({
          wait: z.enum(["true", "false"]).default("false"),
          timeout_ms: z.coerce
            .number()
            .int()
            .min(1)
            .max(timeoutMsMax)
            .optional()
            .describe("How long the answer may wait; 60,000 unless given."),
        }),
      },
    ),
    async (request, reply) => {
      const verb = request.query.wait === "true" ? "refreshed" : "refresh";
      return await change(request.params.name, verb, reply, request.query.timeout_ms);
    },
  );

  app.delete(
    "/api/v1/dynamic-tables/:name",
    route("operate", "Drop it; refused while others read it", done, { params: nameParams }),
    async (request, reply) => await change(request.params.name, "drop", reply),
  );

  const change = async (
    name: string,
    verb: TableVerb,
    reply: FastifyReply,
    timeoutMs?: number | undefined,
  ) => {
    const options = { queryId: nameQuery(reply, prng), timeoutMs };
    const isThere = await tables.change(name, verb, options, disconnectSignal(reply));
    if (!isThere) throw unknownDynamicTable(name);
    return { name };
  };
}

/** Pages a list by name. Lists are read whole, because the graph needs all tables anyway. */
function pageOf<T extends { readonly name: string }>(
  items: readonly T[],
  { limit, page_token: after }: { limit: number; page_token?: string | undefined },
): { items: T[]; next_page_token: string | null } {
  const rest = items
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .filter(({ name }) => after === undefined || name > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return { items: page, next_page_token: rest.length > limit && last ? last.name : null };
}

function unknownDynamicTable(name: string): OperatingError {
  return unknownTable(name, "dynamic table", "SHOW DYNAMIC TABLES");
}

function unknownTable(name: string, what: string, how: string): OperatingError {
  return new OperatingError("not_found", "never", `there is no ${what} ${name}`, {
    hint: `${how} lists those that there are`,
  });
}
