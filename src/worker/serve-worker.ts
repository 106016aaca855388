/** The worker's node and its servers: control sessions, artifacts, and monitoring. */

import { hostname } from "node:os";
import { showLakeLocation } from "../data/lake/index.ts";
import type { WorkerPart } from "../data/parts/index.ts";
import { startControlServer } from "../ground/cluster/index.ts";
import type { OperatingError } from "../ground/kernel/errors.ts";
import { sameSecret } from "../ground/kernel/node/secrets.ts";
import type { Part } from "../ground/process/index.ts";
import { closing, hostPort } from "../ground/process/index.ts";
import type { WorkerNodeOptions } from "../ground/work/index.ts";
import {
  createWorkerQueryMetrics,
  dispatchByKind,
  FactsReporter,
  startArtifactServer,
  tellHealth,
  traceExecutor,
  WorkerNode,
} from "../ground/work/index.ts";
import type { Monitor } from "./monitor-server.ts";
import { startMonitor } from "./monitor-server.ts";
import type { OwnContext } from "./open-worker.ts";
import type { WorkerOptions } from "./options.ts";
import { registerOnce } from "./register-client.ts";
import { Registration } from "./registration.ts";

export interface ServedWorker {
  readonly node: WorkerNode;
  /** The address of the monitor. */
  readonly url: string;
  readonly shown: Readonly<Record<string, string | number>>;
  /** Resolves when the cluster drops or refuses this worker. */
  readonly refused: Promise<OperatingError | "dropped">;
  readonly parts: readonly Part[];
}

export async function serveWorker(
  context: OwnContext,
  options: WorkerOptions,
  kinds: readonly WorkerPart[],
): Promise<ServedWorker> {
  const { host, workerId, incarnation, version } = context;
  const advertisedHost = options.advertiseHost ?? advertisedOf(host);
  const artifacts = await serveArtifacts(context, options, kinds);
  const scheme = context.tls.tls === undefined ? "http" : "https";
  const dataUrl = `${scheme}://${hostPort(advertisedHost, artifacts.port)}`;
  const refused = Promise.withResolvers<OperatingError | "dropped">();
  const register = registration(context, options, refused.resolve, () => ({
    host_name: advertisedHost,
    grpc_port: control.port,
    data_port: artifacts.port,
  }));
  const node = createNode(context, kinds, dataUrl, {
    onDropped: () => refused.resolve("dropped"),
    ...(options.join === undefined ? {} : { register }),
  });
  const control = await serveControl(context, options, node);
  const monitor = await serveMonitor(context, options.metricsPort, node, advertisedHost);
  const told = tellFacts(context, kinds, node, hostPort(advertisedHost, monitor.port));
  const lake = showLakeLocation(context.places.tables);
  const shown = { worker_id: workerId, incarnation, grpc_port: control.port, data_url: dataUrl };
  return {
    node,
    url: `http://${hostPort(host, monitor.port)}`,
    shown: { ...shown, lake, version },
    refused: refused.promise,
    parts: [
      told,
      closing("monitor", 1_000, () => monitor.close()),
      closing("artifact server", 2_000, () => artifacts.close()),
      closing("control server", 2_000, () => control.close()),
      closing("sessions", 2_000, () => node.stop()),
    ],
  };
}

async function serveArtifacts(
  { host, clusterToken: token, spool, logger, tls }: OwnContext,
  { dataPort: port }: WorkerOptions,
  kinds: readonly WorkerPart[],
) {
  const [http2] = kinds.flatMap((part) => part.http2 ?? []);
  const streams = http2 === undefined ? {} : { http2 };
  return await startArtifactServer({ host, port, token, spool, logger, ...tls, ...streams });
}

async function serveControl(
  { host, clusterToken: token, clock, logger, tls }: OwnContext,
  { grpcPort: port }: WorkerOptions,
  { accept }: WorkerNode,
) {
  return await startControlServer({ host, port, token, accept, clock, logger, ...tls });
}

/** A server bound to every address is advertised under the machine's host name. */
function advertisedOf(host: string): string {
  return host === "0.0.0.0" || host === "::" ? hostname() : host;
}

function registration(
  { workerId, incarnation, shares, version, clusterToken, clock }: OwnContext,
  { join: urls = [] }: WorkerOptions,
  onHopeless: (error: OperatingError) => void,
  address: () => Readonly<Record<string, string | number>>,
): () => Promise<void> {
  const config = { urls, clusterToken, clock, timeoutMs: 5_000 };
  const tryOnce = async (): Promise<void> =>
    await registerOnce(config, {
      worker_id: workerId,
      ...address(),
      capacity: shares.cpu.slots,
      incarnation,
      software_version: version,
    });
  const registering = new Registration(clock, tryOnce, onHopeless);
  return () => registering.attempt();
}

function createNode(
  context: OwnContext,
  kinds: readonly WorkerPart[],
  dataUrl: string,
  hooks: Pick<WorkerNodeOptions, "onDropped" | "register">,
): WorkerNode {
  const { room, tracing, metrics } = context;
  const { slots } = context.shares.cpu;
  const executor = dispatchByKind(Object.assign({}, ...kinds.map(({ executors }) => executors)));
  return new WorkerNode({
    ...context,
    softwareVersion: context.version,
    capacity: slots,
    executor: traceExecutor(tracing, {
      execute: (...work) => room.noting(executor.execute(...work)),
    }),
    dataUrl: () => dataUrl,
    channels: kinds.flatMap(({ channels }) => channels ?? []),
    limits: { slots },
    observer: createWorkerQueryMetrics(metrics),
    registerBackoff: { minMs: 100, maxMs: 5_000 },
    ...hooks,
  });
}

async function serveMonitor(
  { host, metrics, health, logger, clusterToken, tokens }: OwnContext,
  port: number,
  node: WorkerNode,
  advertisedHost: string,
): Promise<Monitor> {
  return await startMonitor({
    logger,
    host,
    port,
    hosts: [advertisedHost],
    metrics,
    ready: () => {
      const parts = health.parts();
      const blocker = health.blocker();
      const unregistered = node.registered ? undefined : "not registered with a coordinator";
      const reason = blocker === undefined ? unregistered : `${blocker.name}: ${blocker.reason}`;
      return reason === undefined ? { ready: true, parts } : { ready: false, reason, parts };
    },
    mayRead: (token) => sameSecret(clusterToken, token) || tokens.roleOf(token) !== undefined,
  });
}

/** The facts that the worker reports to the cluster. */
function tellFacts(
  { clock, health, spool, shares }: OwnContext,
  kinds: readonly WorkerPart[],
  node: WorkerNode,
  monitorPlace: string,
): Part {
  const sources = { counts: () => node.manager.counts(), spool: () => spool.usage() };
  const reporter = new FactsReporter(clock, node.endpoint, sources, shares.cpu.cores);
  reporter.start();
  const stopTelling = tellHealth(health, node);
  const facts = Object.entries(Object.assign({}, ...kinds.map((part) => part.facts)));
  for (const [key, value] of facts) node.endpoint.setFact(key, value as string);
  node.endpoint.setFact("metrics_url", `http://${monitorPlace}/metrics`);
  return closing("facts", 500, () => {
    reporter.stop();
    stopTelling();
  });
}
