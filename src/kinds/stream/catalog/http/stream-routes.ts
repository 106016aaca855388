/**
 * `/api/v1/streams/…`: the requests of the catalog over HTTP. What a body says becomes a statement,
 * so that the API and the prompt cannot differ.
 */
import { z } from "zod";
import {
  disconnectSignal,
  type InstallRoutes,
  onlyFields,
  pageQuerySchema,
  routeUnder,
} from "../../../../ground/http/index.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogBody, CatalogObject, ChangeAnswer, QueryBody } from "../core/bodies.ts";
import type { ShowFilter } from "../core/changes.ts";
import type { Planned } from "../core/planner.ts";
import { quoteName, quoteText } from "../core/print-statement.ts";
import { type QueryState, queryStates } from "../core/states.ts";
import { isChange, type StreamCatalog } from "../service/stream-catalog.ts";
import { changeRow } from "../statements/answers.ts";
import { installCheckpoints } from "./checkpoint-routes.ts";
import { inOwnText, statementOfBody } from "./statements-of-bodies.ts";
import {
  acceptedSchema,
  bundleAnswerSchema,
  bundleSchema,
  catalogSnapshotSchema,
  createdSchema,
  createPhysicalSourceSchema,
  createQuerySchema,
  createSinkSchema,
  createSourceSchema,
  createWorkerSchema,
  droppedSchema,
  pageOfSchema,
  physicalSourceSchema,
  sinkSchema,
  streamQueryDetailSchema,
  streamQuerySchema,
  streamSourceSchema,
  streamWorkerSchema,
} from "./stream-schemas.ts";
import { millisecondsOf, timeoutField } from "./wait-fields.ts";

export type StreamCatalogPort = Pick<
  StreamCatalog,
  "execute" | "read" | "readTogether" | "query" | "checkpoints" | "waitFor"
>;

const route = routeUnder("streams-of-queries");
/** A bundle of long statements, a source with thousands of columns. */
const bodyLimit = 2 * 1_024 * 1_024;
const filterText = z.string().max(300).optional();
const nameParams = z.object({ name: z.string().max(300) });
const requestQuery = onlyFields({ request_id: z.string().min(1).max(100).optional() });
const waitFields = {
  wait: z.enum(queryStates).optional().describe("Answer when the query is in this state."),
  timeout: timeoutField,
};
const waitQuery = onlyFields(waitFields);
const resumeQuery = onlyFields({
  ...waitFields,
  from_checkpoint: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe("An older checkpoint that is kept; absent: where it was paused."),
});

/** `path` under the prefix, what it lists, and the filters of the request table. */
interface Listed {
  readonly path: string;
  readonly object: CatalogObject;
  readonly summary: string;
  readonly body: z.ZodType<CatalogBody>;
  readonly filters: readonly FilterName[];
  readonly create: z.ZodType<{ readonly request_id?: string | undefined }> | undefined;
}

const listed: readonly Listed[] = [
  {
    path: "sources",
    object: "logical source",
    summary: "Logical sources",
    body: streamSourceSchema as z.ZodType<CatalogBody>,
    filters: ["by_name"],
    create: createSourceSchema,
  },
  {
    path: "views",
    object: "view",
    summary: "Views",
    body: streamSourceSchema as z.ZodType<CatalogBody>,
    filters: ["by_name"],
    create: undefined,
  },
  {
    path: "physical-sources",
    object: "physical source",
    summary: "Physical sources",
    body: physicalSourceSchema as z.ZodType<CatalogBody>,
    filters: ["for_logical", "on_node", "by_type"],
    create: createPhysicalSourceSchema,
  },
  {
    path: "sinks",
    object: "sink",
    summary: "Sinks",
    body: sinkSchema as z.ZodType<CatalogBody>,
    filters: ["by_name", "on_node", "by_type"],
    create: createSinkSchema,
  },
  {
    path: "workers",
    object: "worker",
    summary: "Workers with their stream slots and links",
    body: streamWorkerSchema as z.ZodType<CatalogBody>,
    filters: ["by_name", "by_host_name", "with_state", "with_capacity"],
    create: createWorkerSchema,
  },
];

const page = pageQuerySchema.extend({
  page_token: z
    .string()
    .regex(/^\d{1,9}$/, "expected the next_page_token of an answer")
    .optional(),
}).shape;

/** Under the names of the request table. Each listing takes those that say something of it. */
const filterFields = {
  by_name: filterText,
  by_host_name: filterText.describe("Its host, host:port, id or label."),
  for_logical: filterText,
  on_node: filterText,
  by_type: filterText,
  with_state: z.enum(["ACTIVE", "UNREACHABLE"]).optional(),
  with_capacity: z.coerce.number().int().min(0).optional().describe("At least so many free slots."),
};
type FilterName = keyof typeof filterFields;
type Filters = Partial<z.infer<z.ZodObject<typeof filterFields>>>;

const queryFilter = onlyFields({
  ...page,
  by_name: filterText,
  by_id: filterText,
  with_state: z.enum(queryStates).optional(),
  on_worker: filterText,
});

export function streamRoutes(catalog: StreamCatalogPort): InstallRoutes {
  return (app) => {
    for (const each of listed) installListed(app, catalog, each);
    installQueries(app, catalog);
    installCheckpoints(app, catalog);
    installSnapshot(app, catalog);
    app.post(
      "/api/v1/streams/bundles",
      {
        ...route("operate", "Several statements: all of them or none", bundleAnswerSchema, {
          body: bundleSchema,
        }),
        bodyLimit,
      },
      async ({ body }, reply) => {
        const { statements, request_id: requestId } = body;
        const request = { statements, requestId, check: requireChanges };
        const answers = await catalog.execute(request, disconnectSignal(reply));
        return {
          answers: answers.map((answer) => {
            assert(isChange(answer), "a bundle changes");
            const [object, name, id, status] = changeRow(answer);
            return { object, name, id, status };
          }),
        };
      },
    );
  };
}

type App = Parameters<InstallRoutes>[0];

function installListed(app: App, catalog: StreamCatalogPort, listing: Listed): void {
  const { path, object, summary, body, filters, create } = listing;
  const url = `/api/v1/streams/${path}`;
  const own = filters.map((name) => [name, filterFields[name]]);
  const filterQuery = onlyFields({ ...page, ...(Object.fromEntries(own) as object) });
  app.get(
    url,
    route("read", `${summary}, by the filters given`, pageOfSchema(body), {
      querystring: filterQuery,
    }),
    async (request) => {
      const rows = await catalog.read(object, filterOf(request.query as Filters));
      return pageOf(rows, request.query);
    },
  );
  app.get(
    `${url}/:name`,
    route("read", `One of: ${summary}`, body, { params: nameParams }),
    async (request) => {
      const { name } = request.params;
      const filter = object === "physical source" ? { byId: name } : { byName: name };
      const [found] = await catalog.read(object, filter);
      assert(found !== undefined, "a name that is asked for is there, or refused");
      return found;
    },
  );
  app.delete(
    `${url}/:name`,
    route("operate", `Drop one of: ${summary}`, droppedSchema(body), {
      params: nameParams,
      querystring: requestQuery,
    }),
    async (request, reply) => {
      const { name } = request.params;
      const shown =
        object === "physical source" || object === "worker" ? quoteText(name) : quoteName(name);
      const statement = `DROP ${object.toUpperCase()} IF EXISTS ${shown}`;
      const { request_id: requestId } = request.query;
      const answer = await executeOne(catalog, statement, requestId, disconnectSignal(reply));
      assert(answer.kind === "dropped", "a drop drops");
      return { dropped: answer.row };
    },
  );
  if (create === undefined) return;
  app.post(
    url,
    {
      ...route("operate", `Create one of: ${summary}`, createdSchema, { body: create }),
      bodyLimit,
    },
    async (request, reply) => {
      const statement = statementOfBody(object, request.body);
      const { request_id: requestId } = request.body;
      const answer = await executeOne(catalog, statement, requestId, disconnectSignal(reply));
      assert(answer.kind === "created", "a creation creates");
      return { id: answer.id, name: answer.name, existed: answer.existed };
    },
  );
}

function installQueries(app: App, catalog: StreamCatalogPort): void {
  const url = "/api/v1/streams/queries";
  app.get(
    url,
    route("read", "Continuous queries, by the filters given", pageOfSchema(streamQuerySchema), {
      querystring: queryFilter,
    }),
    async (request) => {
      const { by_name, by_id, with_state, on_worker } = request.query;
      const filter = {
        ...(by_name === undefined ? {} : { byName: by_name }),
        ...(by_id === undefined ? {} : { byId: by_id }),
        ...(with_state === undefined ? {} : { withState: with_state }),
        ...(on_worker === undefined ? {} : { onWorker: on_worker }),
      };
      const rows = (await catalog.read("query", filter)) as readonly QueryBody[];
      return pageOf(rows, request.query);
    },
  );
  app.get(
    `${url}/:name`,
    route("read", "One continuous query, with its fragments and history", streamQueryDetailSchema, {
      params: nameParams,
    }),
    async (request) => await catalog.query(request.params.name),
  );
  app.post(
    url,
    {
      ...accepting("Create a continuous query", {
        body: createQuerySchema,
        querystring: waitQuery,
      }),
      bodyLimit,
    },
    async (request, reply) => {
      const { request_id: requestId, statement: written } = request.body;
      const statement = statementOfBody("query", request.body);
      const signal = disconnectSignal(reply);
      const asked = { statements: [statement], requestId, check: requireQuery };
      const [answer] = await catalog.execute(asked, signal).catch((thrown: unknown) => {
        throw inOwnText(thrown, statement, written);
      });
      assert(answer?.kind === "created", "a creation creates");
      reply.code(202);
      const { id, name, replaced } = answer;
      return {
        ...(await accepted(catalog, id, name, request.query, signal)),
        replaced: replaced ?? null,
      };
    },
  );
  for (const verb of ["pause", "resume"] as const) {
    app.post(
      `${url}/:name/${verb}`,
      accepting(
        verb === "pause" ? "Stop it at a checkpoint, and keep it" : "Let a paused query go on",
        { params: nameParams, querystring: verb === "resume" ? resumeQuery : waitQuery },
      ),
      async (request, reply) => {
        const { from_checkpoint: from } = request.query as z.infer<typeof resumeQuery>;
        const back = from === undefined ? "" : ` FROM CHECKPOINT ${from}`;
        const statement = `${verb.toUpperCase()} QUERY ${quoteText(request.params.name)}${back}`;
        const signal = disconnectSignal(reply);
        const answer = await executeOne(catalog, statement, undefined, signal);
        assert(answer.kind === "desired", "a query is told what is wanted");
        reply.code(202);
        return await accepted(catalog, answer.id, answer.name, request.query, signal);
      },
    );
  }
  app.delete(
    `${url}/:name`,
    accepting("Stop a query and drop it", {
      params: nameParams,
      querystring: onlyFields({
        ...waitFields,
        mode: z.enum(["soft", "hard"]).default("hard"),
        request_id: requestQuery.shape.request_id,
      }),
    }),
    async (request, reply) => {
      const { mode, request_id: requestId } = request.query;
      const name = quoteText(request.params.name);
      const statement = `DROP QUERY IF EXISTS ${name} ${mode.toUpperCase()}`;
      const signal = disconnectSignal(reply);
      const answer = await executeOne(catalog, statement, requestId, signal);
      assert(answer.kind === "dropped", "a drop drops");
      const row = answer.row as QueryBody | null;
      reply.code(202);
      if (row === null) return { query_id: null, name: null, replaced: null, query: null };
      return await accepted(catalog, row.query_id, row.name, request.query, signal);
    },
  );
}

function accepting<const Parts extends object>(summary: string, parts: Parts) {
  return {
    config: { access: "operate" as const },
    schema: {
      summary: `${summary}; accepted at once, and done in the background`,
      tags: ["streams-of-queries"],
      ...parts,
      response: { 202: acceptedSchema },
    },
  };
}

async function accepted(
  catalog: StreamCatalogPort,
  query_id: string,
  name: string | null,
  { wait, timeout }: { readonly wait?: QueryState | undefined; readonly timeout: string },
  signal: AbortSignal,
) {
  const waitMsMax = wait === undefined ? 0 : millisecondsOf(timeout);
  const query = await catalog.waitFor(query_id, wait, waitMsMax, signal);
  return { query_id, name, replaced: null, query: query ?? null };
}

async function executeOne(
  catalog: StreamCatalogPort,
  statement: string,
  requestId: string | undefined,
  signal: AbortSignal,
): Promise<ChangeAnswer> {
  const [answer] = await catalog.execute({ statements: [statement], requestId }, signal);
  assert(answer !== undefined && isChange(answer), "it changes");
  return answer;
}

/** One query, and nothing else: other statements have requests of their own. */
function requireQuery(planned: readonly Planned[]): void {
  const [first, ...more] = planned;
  const creates = first?.kind === "change" && first.change.kind === "createQuery";
  if (creates && more.length === 0) return;
  const message =
    more.length > 0
      ? `one query is created here, and these are ${planned.length} statements`
      : "the statement creates no query";
  throw new OperatingError("bad_request", "never", message, {
    hint: "POST /api/v1/streams/bundles takes several statements, POST /api/v1/sql any.",
  });
}

function requireChanges(planned: readonly Planned[]): void {
  if (planned.every(({ kind }) => kind === "change")) return;
  throw new OperatingError("bad_request", "never", "a bundle has no SHOW and no EXPLAIN", {
    hint: "GET /api/v1/streams/snapshot reads several tables of one moment.",
  });
}

const together = {
  sources: "logical source",
  views: "view",
  physical_sources: "physical source",
  sinks: "sink",
  queries: "query",
  workers: "worker",
} as const satisfies Record<string, CatalogObject>;
type Together = keyof typeof together;
const togetherNames = Object.keys(together) as Together[];

function installSnapshot(app: App, catalog: StreamCatalogPort): void {
  app.get(
    "/api/v1/streams/snapshot",
    route("read", "Several tables of the catalog, of one moment", catalogSnapshotSchema, {
      querystring: onlyFields({
        tables: z
          .string()
          .max(300)
          .default(togetherNames.join(","))
          .describe("Some of them, separated by commas; all where nothing is said."),
      }),
    }),
    async (request) => {
      const names = request.query.tables.split(",").map((name) => name.trim());
      const unknown = names.find((name) => !Object.hasOwn(together, name));
      if (unknown !== undefined) {
        throw new OperatingError("bad_request", "never", `tables: there is no table ${unknown}`, {
          hint: `There are ${togetherNames.join(", ")}.`,
        });
      }
      const wanted = names as Together[];
      const { revision, nowMs, rows } = await catalog.readTogether(
        wanted.map((name) => together[name]),
      );
      const found = wanted.map((name) => [name, rows.get(together[name]) ?? []]);
      return { revision, now_ms: nowMs, ...Object.fromEntries(found) };
    },
  );
}

function filterOf(query: Filters): ShowFilter {
  const { by_name, by_host_name, for_logical, on_node, by_type, with_state, with_capacity } = query;
  const named = by_name ?? by_host_name;
  return {
    ...(named === undefined ? {} : { byName: named }),
    ...(for_logical === undefined ? {} : { forLogical: for_logical }),
    ...(on_node === undefined ? {} : { onWorker: on_node }),
    ...(by_type === undefined ? {} : { byType: by_type }),
    ...(with_state === undefined ? {} : { withState: with_state }),
    ...(with_capacity === undefined ? {} : { withCapacity: with_capacity }),
  };
}

/** The token is how many came before: the lists are small, and their order is kept. */
function pageOf<T>(
  rows: readonly T[],
  { limit, page_token = "0" }: { limit: number; page_token?: string | undefined },
): { items: T[]; next_page_token: string | null } {
  const from = Number(page_token);
  const end = from + limit;
  return { items: rows.slice(from, end), next_page_token: rows.length > end ? `${end}` : null };
}
