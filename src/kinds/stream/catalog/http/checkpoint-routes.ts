/** `/api/v1/streams/…/checkpoints`: the checkpoints of queries, and savepoints on demand. */
import { z } from "zod";
import {
  disconnectSignal,
  type InstallRoutes,
  onlyFields,
  routeUnder,
} from "../../../../ground/http/index.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import { quoteText } from "../core/print-statement.ts";
import { isChange, type StreamCatalog } from "../service/stream-catalog.ts";
import { millisecondsOf, timeoutField } from "./wait-fields.ts";

type CatalogPort = Pick<StreamCatalog, "execute" | "checkpoints">;

const checkpointSchema = z.object({
  query_id: z.string(),
  name: z.string().nullable().describe("Of the query."),
  checkpoint: z.int(),
  kind: z
    .enum(["CHECKPOINT", "SAVEPOINT"])
    .describe("A savepoint was asked for, and stays until it is dropped."),
  epoch: z.int(),
  size_bytes: z.int(),
  duration_ms: z.int(),
  completed_at_ms: z.int(),
});

const listSchema = z.object({ checkpoints: z.array(checkpointSchema) });

const savepointSchema = z.object({
  query_id: z.string().nullable(),
  name: z.string().nullable(),
  checkpoint: z
    .int()
    .nullable()
    .describe("Null: it is not taken yet, as while the query is being deployed."),
});

const route = routeUnder("streams-of-queries");
const queryParams = z.object({ name: z.string().max(300) });
const checkpointParams = queryParams.extend({ checkpoint: z.coerce.number().int().min(1) });

export function installCheckpoints(app: Parameters<InstallRoutes>[0], catalog: CatalogPort): void {
  const all = "/api/v1/streams/checkpoints";
  app.get(all, route("read", "Complete checkpoints of all queries", listSchema, {}), async () => ({
    checkpoints: [...(await catalog.checkpoints(undefined))],
  }));
  const url = "/api/v1/streams/queries/:name/checkpoints";
  app.get(
    url,
    route("read", "Complete checkpoints of a query that are kept, the newest first", listSchema, {
      params: queryParams,
    }),
    async ({ params }) => ({ checkpoints: [...(await catalog.checkpoints(params.name))] }),
  );
  app.post(
    url,
    route("operate", "Take a savepoint: a checkpoint that is kept", savepointSchema, {
      params: queryParams,
      querystring: onlyFields({ timeout: timeoutField }),
    }),
    async ({ params, query }, reply) => {
      const statement = `CHECKPOINT QUERY ${quoteText(params.name)}`;
      const savepointWaitMsMax = millisecondsOf(query.timeout);
      const request = { statements: [statement], savepointWaitMsMax };
      return await savepointOf(catalog, request, disconnectSignal(reply));
    },
  );
  app.delete(
    `${url}/:checkpoint`,
    route("operate", "Keep a savepoint no longer", savepointSchema, { params: checkpointParams }),
    async ({ params: { name, checkpoint } }, reply) => {
      const statement = `DROP CHECKPOINT ${checkpoint} FOR ${quoteText(name)}`;
      const request = { statements: [statement] };
      return await savepointOf(catalog, request, disconnectSignal(reply));
    },
  );
}

async function savepointOf(
  catalog: CatalogPort,
  request: Parameters<CatalogPort["execute"]>[0],
  signal: AbortSignal,
): Promise<z.infer<typeof savepointSchema>> {
  const [answer] = await catalog.execute(request, signal);
  assert(answer !== undefined && isChange(answer), "it changes");
  assert(answer.kind === "savepoint", "it is about a savepoint");
  const { id, name, done, checkpoint } = answer;
  return { query_id: id, name, checkpoint: done === "none" ? null : checkpoint };
}
