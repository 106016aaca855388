/**
 * A worker's part of streams: the fragments that coordinators deploy here, on threads that start
 * with the first of them, and the exchange with other workers on the data port. File sources and
 * sinks see one directory; the lake is there where the worker has the store.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { StoreOfWorker, WorkerContext, WorkerPart } from "../../../data/parts/index.ts";
import type { WorkerEndpoint } from "../../../ground/cluster/index.ts";
import { bearerOf, isBearer } from "../../../ground/kernel/node/cluster-token.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { randomText } from "../../../ground/kernel/prng.ts";
import { stopStep } from "../../../ground/process/index.ts";
import { Loop } from "../../../ground/reconcile/index.ts";
import {
  CoordinatorRows,
  createStateStorage,
  leaveCluster,
  OwnStreams,
  resolveSecrets,
  StreamWorker,
  sendReport,
  streamChannelOf,
  tellStates,
} from "../fleet/index.ts";
import {
  answerCalls,
  EdgeHub,
  PreviewOutlets,
  type StreamLake,
  StreamPool,
  type StreamPoolOptions,
  serveExchange,
  servePreviews,
} from "../run/index.ts";

export interface StreamWorkerPartOptions {
  /** Where File sources and sinks are. Default: `streams` in the data directory. */
  readonly streamDir?: string;
  /** A mounted directory with a file for each secret that a configuration names. */
  readonly secretsDir?: string;
}

type Context = WorkerContext | (WorkerContext & StoreOfWorker);

const statisticsMs = 1_000;

export function createStreamWorkerPart(
  context: Context,
  options: StreamWorkerPartOptions,
): WorkerPart {
  const { clusterToken, clock, logger, dataDir, stagingDir, objects } = context;
  const directory = options.streamDir ?? join(dataDir.path, "streams");
  const states = join(stagingDir, "streams");
  const hub = new EdgeHub();
  const previews = new PreviewOutlets();
  const coordinatorRows = new CoordinatorRows({
    headers: { authorization: bearerOf(clusterToken) },
    clock,
    ...context.tls,
  });
  const own = new OwnStreams({
    workerId: context.workerId,
    series: randomText(context.prng.fork("own streams"), 12),
    clock,
    coordinatorRows: (asked, signal) => coordinatorRows.rows(asked, signal),
  });
  let pool: StreamPool | undefined;
  let endpoint: WorkerEndpoint | undefined;
  const openHost = (): StreamPool => {
    for (const each of [directory, states]) mkdirSync(each, { recursive: true });
    pool = new StreamPool({ ...poolOptions(context, directory, hub), previews, system: own });
    return pool;
  };
  const worker = new StreamWorker({
    openHost,
    states: createStateStorage({ objects, files: realFiles, stagingDir: states }),
    resolve: (specs) => resolveSecrets(specs, { env: process.env, directory: options.secretsDir }),
    facts: {
      setFact: (key, value) => endpoint?.setFact(key, value),
      unsetFact: (key) => endpoint?.unsetFact(key),
      get factsVersion() {
        return endpoint?.factsVersion ?? 0;
      },
    },
    report: (session, report) => {
      if (endpoint !== undefined) sendReport(endpoint, session, report);
    },
    tell: (report) => {
      if (endpoint !== undefined) tellStates(endpoint, report);
    },
    clock,
    logger,
  });
  const sessions = (): ReturnType<WorkerEndpoint["sessions"]> => endpoint?.sessions() ?? [];
  const hasCoordinator = (): boolean => sessions().some(({ role }) => role === "coordinator");
  const telling = new Loop({
    clock,
    logger,
    everyMs: statisticsMs,
    trouble: "cannot tell how streams are doing",
    turn: async () => {
      if (pool === undefined || endpoint === undefined) return;
      const queries = await worker.statistics();
      own.tell(queries, endpoint.facts);
      if (queries.length === 0) return;
      const atMs = clock.nowMs();
      const peers = await pool.measures();
      for (const { key, role } of endpoint.sessions()) {
        if (role === "coordinator")
          sendReport(endpoint, key, { kind: "statistics", atMs, queries, peers });
      }
    },
  });
  const isAllowed = ({ authorization }: { authorization?: string | undefined }): boolean =>
    isBearer(authorization, clusterToken);
  return {
    name: "streams",
    channels: [streamChannelOf({ worker, sessions, logger })],
    http2: (stream, headers) => {
      if (serveExchange(stream, headers, { hub, isAllowed })) return;
      if (!servePreviews(stream, headers, { previews, isAllowed })) stream.close();
    },
    start(node) {
      endpoint = node.endpoint;
      telling.start();
    },
    drained: () => leaveCluster({ worker, hasCoordinator, clock, logger }),
    quiesce: [stopStep("stop telling of streams", 1_000, () => telling.stop())],
    close: [
      stopStep("close stream threads", 3_000, () => pool?.close()),
      stopStep("close the way to the coordinator", 500, () => coordinatorRows.close()),
    ],
  };
}

function poolOptions(context: Context, directory: string, hub: EdgeHub): StreamPoolOptions {
  const { shares, workMemory: budget, clusterToken, clock, logger, tls } = context;
  return {
    threads: Math.max(1, shares.cpu.streamThreads),
    clock,
    places: { sourceDir: directory, sinkDir: directory, confined: true },
    print: (sink, text) => {
      logger.info({ sink }, text.slice(0, printedMax));
      return undefined;
    },
    tell: (text) => logger.info({}, text),
    memory: { budget, bytesMax: shares.memory.streamBytes },
    exchange: { hub, headers: { authorization: bearerOf(clusterToken) }, ...tls },
    ...lakeOf(context),
  };
}

/** What a Print sink gives at once is cut to so many characters in the log. */
const printedMax = 4_096;

function lakeOf(context: Context): Pick<StreamPoolOptions, "lake"> {
  if (!("store" in context)) return {};
  const { store, catalog, objects, engine, stagingDir, clock } = context;
  const lake: StreamLake = {
    store,
    catalog,
    objects,
    engine,
    spoolDir: join(stagingDir, "streams"),
    stagingDir: join(stagingDir, "streams"),
    clock,
    prng: context.prng.fork("stream files"),
    // The catalog refused tables that other kinds of work fill when the query was planned.
    refuseWrite: async () => undefined,
  };
  return { lake: { calls: answerCalls(lake), stagingDir: lake.stagingDir } };
}
