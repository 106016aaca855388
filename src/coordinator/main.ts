/**
 * A coordinator, or a query-api: builds the objects, starts them, waits, stops them. What they do is elsewhere.
 */
import { hostname, totalmem } from "node:os";
import { join } from "node:path";
import { startApi } from "../api/index.ts";
import { createGrpcDialer } from "../cluster/index.ts";
import { assert, OperatingError } from "../kernel/errors.ts";
import { parseControllerId } from "../kernel/ids.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { createSystemPrng } from "../kernel/node/system-random.ts";
import { randomText } from "../kernel/prng.ts";
import {
  createApiQueryMetrics,
  createSessionMetrics,
  Metrics,
  startTracing,
} from "../observe/index.ts";
import {
  checkBind,
  chooseFreePort,
  decideMemoryBytes,
  hostPort,
  isLoopback,
  lockDir,
  type ProcessOptions,
  packageInfo,
  RequestGuard,
  readSecretFile,
  runStopSteps,
  setUpProcess,
  stopRequested,
  tellSupervisor,
} from "../process/index.ts";
import { createHttpArtifactFetcher, startEngine } from "../queries/index.ts";
import { openStore, parseStoreUrl, type Store } from "../store/index.ts";
import { createApiPorts } from "./api-ports.ts";
import { ControllerNode } from "./controller-node.ts";
import { parseDiscovery } from "./discover.ts";
import { readHolderId } from "./holder-id.ts";

/** As the command line gives them. */
export interface ControllerOptions extends ProcessOptions {
  readonly role: "coordinator" | "query_api";
  readonly name: string;
  readonly port: number;
  readonly store?: string;
  readonly apiUrl?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly memoryLimit?: number;
  readonly drainTimeout: number;
  readonly discover: string;
}

const leaseName = "coordinator";
const clock = realClock;

/** Resolves when the process was asked to stop and has stopped. */
export async function runController(options: ControllerOptions): Promise<void> {
  const stopping = stopRequested();
  const { role, name, host } = options;
  const { dataDir, logger, tokens, clusterToken, clusterTls } = setUpProcess(
    options,
    name,
    "controller",
  );
  checkBind(host, tokens.size > 0 ? "tokens" : "nothing", "the API");
  const { root, version } = packageInfo();
  const prng = createSystemPrng();
  const ownDir = dataDir.ownDir("controllers", name);
  const lock = await lockDir(ownDir, "lock", clock, 5_000);
  const port = options.port === 0 ? await chooseFreePort(host) : options.port;
  const tls = readApiTls(options);
  const apiUrl = options.apiUrl ?? ownUrl(host, port, tls !== undefined);

  const discovery = parseDiscovery(options.discover, clock, logger);
  const needsStore = role === "coordinator" || discovery === undefined;
  const store = needsStore ? await openOwnStore() : undefined;
  const tracing = await startTracing({
    serviceName: role === "coordinator" ? "capstan-coordinator" : "capstan-query-api",
    instance: name,
    version,
    env: process.env,
  });
  const metrics = new Metrics({ process: role, version });
  const fetchedDir = join(ownDir, "fetched");
  const engine = await startEngine({
    memoryLimitBytes:
      options.memoryLimit ??
      decideMemoryBytes("coordinator", { totalBytes: machineBytes(), workers: 1 }),
    threads: 2, // It reads results; the workers compute them.
    spoolDir: fetchedDir,
    tempDir: join(ownDir, "temp"),
    connections: 4,
    clock,
    logger,
  });
  const fetcher = await createHttpArtifactFetcher({
    token: clusterToken,
    dir: fetchedDir,
    clock,
    logger,
    checksum: (path) => engine.checksum(path),
    ...(clusterTls === undefined ? {} : { tls: clusterTls }),
  });
  const node: ControllerNode = new ControllerNode({
    role,
    controllerId: newControllerId(),
    clock,
    prng,
    logger,
    fetcher,
    dialer: createGrpcDialer({
      token: clusterToken,
      clock,
      logger,
      ...(clusterTls === undefined ? {} : { tls: clusterTls }),
    }),
    queryObserver: createApiQueryMetrics(metrics, () => node.manager.queue()),
    sessionObserver: createSessionMetrics(metrics),
    ...(store === undefined ? {} : { store }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(role === "query_api"
      ? {}
      : { lease: { name: leaseName, holder: readHolderId(ownDir, name, prng), apiUrl } }),
  });
  const api = await startApi(
    {
      host,
      port,
      version,
      prng: prng.fork("requests"),
      dashboardDirs: [join(root, "web", "dist"), join(root, "dist", "web")],
      access: {
        tokens,
        clusterToken,
        guard: new RequestGuard({
          bindHost: host,
          hosts: [new URL(apiUrl).hostname, ...(options.allowHost ?? [])],
          origins: options.allowOrigin ?? [],
        }),
      },
      ...(tls === undefined ? {} : { tls }),
    },
    createApiPorts({
      node,
      store,
      engine,
      metrics,
      tracing,
      clock,
      prng: prng.fork("queries"),
      logger,
      version,
      leaseName,
    }),
  );
  node.start();
  logger.info({ url: api.url, role, version, store: store?.dialect }, "listening");
  await tellSupervisor({ kind: "ready", url: api.url });

  const reason = await stopping;
  logger.info({ reason }, "stopping");
  const drainMs = reason === "supervisor gone" ? 0 : options.drainTimeout * 1000;
  await runStopSteps(
    [
      { name: "refuse", timeoutMs: 1_000, run: async () => api.drain() },
      { name: "drain", timeoutMs: drainMs + 5_000, run: () => node.stop({ drainMs }) },
      { name: "close api", timeoutMs: 2_000, run: () => api.close() },
      { name: "force api", timeoutMs: 500, run: async () => api.force() },
      { name: "close fetcher", timeoutMs: 1_000, run: () => fetcher.close() },
      { name: "close engine", timeoutMs: 2_000, run: () => engine.close() },
      { name: "close store", timeoutMs: 2_000, run: async () => await store?.close() },
      { name: "send spans", timeoutMs: 2_000, run: () => tracing.close() },
    ],
    clock,
    logger,
  );
  lock.release();
  logger.info({}, "stopped");

  async function openOwnStore(): Promise<Store> {
    const location = parseStoreUrl(options.store ?? dataDir.storePath);
    return await openStore({ ...location, clock, logger, prng: prng.fork("store") });
  }

  function newControllerId(): NonNullable<ReturnType<typeof parseControllerId>> {
    const controllerId = parseControllerId(`${name}-${randomText(prng, 12)}`);
    assert(controllerId !== undefined, "a controller's id has the form of one");
    return controllerId;
  }
}

/** What a container is allowed, or what the machine has. */
function machineBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

/** Bound to every address, the machine's name is the one that others can use. */
function ownUrl(host: string, port: number, secure: boolean): string {
  const everywhere = host === "0.0.0.0" || host === "::";
  const name = everywhere && !isLoopback(host) ? hostname() : host;
  return `${secure ? "https" : "http"}://${hostPort(name, port)}`;
}

function readApiTls({
  tlsCert,
  tlsKey,
}: ControllerOptions): { cert: string; key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new OperatingError("bad_request", "never", "--tls-cert and --tls-key go together");
  }
  return {
    cert: readSecretFile(tlsCert, "--tls-cert"),
    key: readSecretFile(tlsKey, "--tls-key"),
  };
}
