/**
 * The coordinator's part of streams: the catalog's requests as statements and over HTTP, the
 * protection of tables that queries use, and, while it leads, the reconcilers of queries.
 */
import { sql } from "kysely";
import type { TableId } from "../../../data/lake/index.ts";
import type {
  ControllerKind,
  ControllerPart,
  CoordinatorContext,
} from "../../../data/parts/index.ts";
import { createGrpcDialer } from "../../../ground/cluster/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { bearerOf } from "../../../ground/kernel/node/cluster-token.ts";
import { stopStep } from "../../../ground/process/index.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { OpenPreview } from "../catalog/core/index.ts";
import {
  createLakeGuard,
  createReadLakeTables,
  createReadSnapshot,
  createStreamStatements,
  createWorkerDial,
  previewRoute,
  readQueriesAttention,
  StreamCatalog,
  type StreamCatalogPort,
  streamRoutes,
  ThreadPlanner,
  watchedStreamTables,
} from "../catalog/index.ts";
import {
  createFleet,
  dataUrlOf,
  liveRoutes,
  Previews,
  type StreamFleet,
  speaksStreams,
  streamChannel,
  streamLoadRoutes,
} from "../fleet/index.ts";
import type { DialectName, FilledTable } from "../language/core/index.ts";
import { readPreview } from "../run/index.ts";
import { openOwnStreams } from "./own-streams.ts";

/** The options of the command line for streams. */
export interface StreamOptions {
  /** The defaults of sources, sinks and queries. */
  readonly streamDialect?: DialectName;
}

/** Reads the tables of the lake that other kinds of work fill, so that no stream writes to them. */
type ReadFilled = (tx: Tx) => Promise<ReadonlyMap<TableId, FilledTable>>;

export function streamKind(readFilled: ReadFilled): ControllerKind<StreamOptions> {
  return {
    createPart: (context, options) => createStreamPart(context, options, readFilled),
    watched: watchedStreamTables,
    channels: [streamChannel],
  };
}

async function createStreamPart(
  context: CoordinatorContext,
  { streamDialect: dialect = "capstan" }: StreamOptions,
  readFilled: ReadFilled,
): Promise<ControllerPart> {
  const { store, node, leadership, clock, logger, clusterToken: token, tls } = context;
  const prng = context.prng.fork("streams");
  const planner = new ThreadPlanner({ clock, dialect });
  const requests = new StreamCatalog({
    planner,
    readSnapshot: createReadSnapshot(createReadLakeTables(readFilled), speaksStreams(node)),
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
    readTogether: (objects) => requests.readTogether(objects),
    query: (name) => requests.query(name),
    checkpoints: (name) => requests.checkpoints(name),
    waitFor: (...args) => requests.waitFor(...args),
  };
  const nowMs = async () =>
    await store.read(async ({ db }) => {
      const { rows } = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
      return rows[0]?.now ?? 0;
    });
  const own = context.role === "coordinator" ? await openOwnStreams(context) : undefined;
  const fleet =
    own === undefined ? undefined : createFleet({ ...fleetOptions(context), dataUrl: own.url });
  const asLeader = <T>(read: (leading: StreamFleet) => Promise<T>): Promise<T> =>
    leadership.asLeader(async () => {
      if (fleet !== undefined) return await read(fleet);
      throw new OperatingError("not_leader", "backoff", "a query-api hears no figures of queries");
    });
  const previews = context.role === "coordinator" ? openPreviews(context, requests) : undefined;
  const openPreview: OpenPreview = (request, signal) =>
    leadership.asLeader(async () => {
      if (previews !== undefined) return await previews.open(request, signal);
      const hint = "Ask a coordinator.";
      const message = "a query-api has no sessions with workers for previews";
      throw new OperatingError("not_leader", "never", message, { hint });
    });
  let unfollow: (() => void) | undefined;
  return {
    name: "streams",
    statements: createStreamStatements(
      (request, signal) => catalog.execute(request, signal),
      openPreview,
    ),
    guard: createLakeGuard(store),
    routes: async (app, http) => {
      await streamRoutes(catalog)(app, http);
      await liveRoutes((name) => asLeader((leading) => leading.live(name)))(app, http);
      await streamLoadRoutes(() => asLeader((leading) => leading.load()))(app, http);
      await previewRoute(openPreview)(app, http);
    },
    attention: { "continuous queries": () => readQueriesAttention(catalog, nowMs) },
    start() {
      own?.start();
      fleet?.start();
      if (previews === undefined) return;
      unfollow = node.lease?.onChange(() => previews.leaseChanged());
      previews.start();
    },
    quiesce: [
      stopStep("end previews", 2_000, async () => {
        unfollow?.();
        await previews?.stop();
      }),
      stopStep("stop the reconcilers of streams", 5_000, () => fleet?.stop()),
    ],
    close: [
      stopStep("close the planner of streams", 2_000, () => planner.close()),
      stopStep("close the data port", 1_000, () => own?.close()),
    ],
  };
}

function openPreviews(
  { node, store, clock, logger, clusterToken, tls }: CoordinatorContext,
  catalog: StreamCatalog,
): Previews {
  const headers = { authorization: bearerOf(clusterToken) };
  return new Previews({
    ...{ store, catalog, clock, logger },
    lease: () => node.lease?.grant(),
    addressOf: dataUrlOf(node),
    read: (address, run, signal) => readPreview(address, run, { headers, clock, ...tls }, signal),
  });
}

function fleetOptions(context: CoordinatorContext) {
  const { node, store, catalog, objects, clock, prng, logger, metrics } = context;
  return { node, store, catalog, objects, clock, prng, logger, metrics };
}
