/**
 * The coordinator's part of streams: the catalog's requests as statements and over HTTP, and the
 * protection of tables that queries use.
 */
import { sql } from "kysely";
import type { ControllerPart, CoordinatorContext } from "../../../data/parts/index.ts";
import { createGrpcDialer } from "../../../ground/cluster/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import {
  createLakeGuard,
  createStreamStatements,
  createWorkerDial,
  readQueriesAttention,
  StreamCatalog,
  type StreamCatalogDeps,
  type StreamCatalogPort,
  streamRoutes,
} from "../catalog/index.ts";

/** What statements are planned with. */
type StreamPlanning = Pick<StreamCatalogDeps, "planner" | "readSnapshot">;

/** Until there is a planner: what is there is read, and nothing can be created. */
const unplanned: StreamPlanning = {
  planner: {
    async plan() {
      throw new OperatingError(
        "bad_request",
        "never",
        "this version of the coordinator plans no statements about streams",
        { hint: "capstan stream run FILE runs continuous queries in a process of its own." },
      );
    },
  },
  readSnapshot: async () => ({
    version: 0,
    logicalSources: [],
    physicalSources: [],
    sinks: [],
    tables: undefined,
    topology: { workers: [], links: [] },
  }),
};

export function createStreamPart(
  context: CoordinatorContext,
  planning: StreamPlanning = unplanned,
): ControllerPart {
  const { store, node, leadership, clock, logger, clusterToken: token, tls } = context;
  const prng = context.prng.fork("streams");
  const requests = new StreamCatalog({
    ...planning,
    store,
    lease: () => node.lease?.grant(),
    dialWorker: createWorkerDial({
      dialer: createGrpcDialer({ token, clock, logger, ...tls }),
      clock,
      prng,
    }),
    clock,
  });
  const catalog: StreamCatalogPort = {
    execute: (request, signal) => leadership.asLeader(() => requests.execute(request, signal)),
    read: (object, filter) => requests.read(object, filter),
    query: (name) => requests.query(name),
    waitFor: (...args) => requests.waitFor(...args),
  };
  const nowMs = async () =>
    await store.read(async ({ db }) => {
      const { rows } = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
      return rows[0]?.now ?? 0;
    });
  return {
    name: "streams",
    statements: createStreamStatements((request, signal) => catalog.execute(request, signal)),
    guard: createLakeGuard(store),
    routes: streamRoutes(catalog),
    attention: { "continuous queries": () => readQueriesAttention(catalog, nowMs) },
  };
}
