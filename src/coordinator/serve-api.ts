/** Builds the HTTP server of this process from its parts. */

import { join } from "node:path";
import { showLakeLocation } from "../data/lake/index.ts";
import type { ControllerContext, ControllerPart } from "../data/parts/index.ts";
import { queryBody } from "../data/statements/index.ts";
import type { ApiConfig } from "../faces/api/index.ts";
import { createStatus, createWorkersPort, decideReadiness, startApi } from "../faces/api/index.ts";
import type { Part } from "../ground/process/index.ts";
import { packageInfo, RequestGuard, stopStep } from "../ground/process/index.ts";
import type { Store } from "../ground/store/index.ts";
import type { QueueState } from "../ground/work/index.ts";
import { combineQueues, createQueueMetrics, waitingWork } from "../ground/work/index.ts";
import { readApiTls } from "./address.ts";
import type { ControllerOptions } from "./options.ts";

export interface ApiPart extends Part {
  readonly url: string;
  /** What the log says when the process listens. */
  readonly shown: Readonly<Record<string, string>>;
}

export async function serveApi(
  context: ControllerContext,
  options: ControllerOptions,
  parts: readonly ControllerPart[],
): Promise<ApiPart> {
  const { metrics, node, clock, logger, leadership, health } = context;
  const waiting = (): QueueState =>
    waitingWork(node, combineQueues(parts.flatMap((part) => part.waiting?.() ?? [])));
  createQueueMetrics(metrics, waiting);
  const store = "store" in context ? (context.store as Store) : undefined;
  const workers = createWorkersPort({ ...context, store });
  const api = await startApi(apiConfig(context, options), {
    clock,
    logger,
    workers,
    queries: { list: () => node.manager.list().map(queryBody) },
    routes: parts.flatMap(({ routes }) => routes ?? []),
    waiting,
    attention: Object.assign({}, ...parts.map(({ attention }) => attention)),
    ready: () => decideReadiness(leadership.role(), health),
    status: createStatus({ ...context, store, waiting }, workers),
    metrics: (accept) => metrics.exposition(accept),
    ...(store === undefined
      ? { absent: "this process has no store: it answers queries only" }
      : {}),
  });
  return {
    name: "api",
    url: api.url,
    shown: { url: api.url, ...shownOf(context, store) },
    quiesce: [stopStep("refuse", 1_000, () => api.drain())],
    close: [
      stopStep("close api", 2_000, () => api.close()),
      stopStep("force api", 500, () => api.force()),
    ],
  };
}

function shownOf(
  { role, version, places }: ControllerContext,
  store: Store | undefined,
): Readonly<Record<string, string>> {
  if (store === undefined) return { role, version };
  return { role, version, store: store.dialect, lake: showLakeLocation(places.tables) };
}

function apiConfig(context: ControllerContext, options: ControllerOptions): ApiConfig {
  const { allowHost = [], allowOrigin = [] } = options;
  const { host, apiUrl, version, tokens, clusterToken, limits } = context;
  const { root } = packageInfo();
  const hosts = [new URL(apiUrl).hostname, ...allowHost];
  const tls = readApiTls(options);
  return {
    host,
    port: context.port,
    version,
    limits,
    prng: context.prng.fork("requests"),
    dashboardDirs: [join(root, "web", "dist"), join(root, "dist", "web")],
    access: {
      tokens,
      clusterToken,
      guard: new RequestGuard({ bindHost: host, hosts, origins: allowOrigin }),
    },
    ...(tls === undefined ? {} : { tls }),
  };
}
