/**
 * A coordinator, or a query-api: builds the objects, starts them, waits, stops them. What they do is elsewhere.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { type ApiConfig, startApi } from "../api/index.ts";
import { createGrpcDialer } from "../cluster/index.ts";
import { assert, OperatingError } from "../kernel/errors.ts";
import { type Health, HealthBoard } from "../kernel/health.ts";
import { parseControllerId } from "../kernel/ids.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { createSystemPrng } from "../kernel/node/system-random.ts";
import { type Prng, randomText } from "../kernel/prng.ts";
import {
  claimLake,
  decideLakePlaces,
  LakeStatements,
  LakeStore,
  openDownloadCache,
  openLakeFiles,
  openUploads,
  showLakeLocation,
} from "../lake/index.ts";
import { createLoadRelations } from "../load/index.ts";
import { readScrapeConfig } from "../metrics/index.ts";
import {
  createApiQueryMetrics,
  createEngineMetrics,
  createPromqlMetrics,
  createQueueMetrics,
  createSessionMetrics,
  Metrics,
  showHealth,
  startTracing,
} from "../observe/index.ts";
import {
  type ClusterTls,
  checkBind,
  chooseFreePort,
  decideMemoryBytes,
  hostPort,
  isSupervised,
  lockDir,
  machine,
  makeOverflowDir,
  type ProcessOptions,
  type ProcessSetup,
  packageInfo,
  parseLimits,
  planMemory,
  RequestGuard,
  readSecretFile,
  runStopSteps,
  setUpProcess,
  stopRequested,
  tellSupervisor,
  warnOfSmallLimit,
  watchDirectories,
} from "../process/index.ts";
import {
  type ArtifactFetcher,
  createHttpArtifactFetcher,
  DiskBudget,
  defaultDiskRatios,
  startEngine,
} from "../queries/index.ts";
import { openStore, parseStoreUrl, type Store } from "../store/index.ts";
import { DynamicTables } from "../tables/index.ts";
import { createApiPorts } from "./api-ports.ts";
import { ControllerNode } from "./controller-node.ts";
import { DataCondition } from "./data-condition.ts";
import { parseDiscovery } from "./discover.ts";
import { readHolderId } from "./holder-id.ts";
import { createLoadParts } from "./load-parts.ts";
import { createMetricsParts } from "./metrics-parts.ts";
import { startOwnHead } from "./own-head.ts";
import { observePromql } from "./promql-port.ts";
import { createTablesParts } from "./tables-parts.ts";
import { waitingWork } from "./waiting-work.ts";
import { watchedPlaces } from "./watched-places.ts";

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
  /** Of tables, and of metrics unless `metricsDir` says otherwise or it is no directory. */
  readonly lake?: string;
  readonly metricsDir?: string;
  /** In milliseconds. */
  readonly keepSnapshots?: number;
  readonly deleteAfter?: number;
  readonly upkeepEvery?: number;
  readonly scrubEvery?: number;
  readonly keepMetrics?: number;
  readonly keepRuns?: number;
  readonly scrapeConfig?: string;
  /** `name=value` */
  readonly limit?: readonly string[];
  readonly allowTargetFile?: readonly string[];
  readonly loadMemoryLimit?: number;
  readonly allowPasswordEnv?: readonly string[];
  readonly drainTimeout: number;
  readonly discover: string;
}

const leaseName = "coordinator";
const clock = realClock;

/** Resolves when the process was asked to stop and has stopped. */
export async function runController(options: ControllerOptions): Promise<void> {
  const stopping = stopRequested();
  const { role, name } = options;
  const setup = setUpProcess(options, name, "controller");
  const { logger, tokens } = setup;
  const limits = parseLimits(options.limit ?? []);
  const scrape = readScrapeConfig(options.scrapeConfig);
  if (!isSupervised()) {
    // Not a log line: it is shown at every level, and by a standby. `capstan up` shows it by itself.
    for (const notice of scrape?.ignored ?? []) {
      process.stderr.write(`Scrape configuration, ${notice}.\n`);
    }
  }
  checkBind(options.host, tokens.size > 0 ? "tokens" : "nothing", "the API");
  const { version } = packageInfo();
  const prng = createSystemPrng();
  const place = await takePlace(options, setup);
  const { tables, metricsDir } = decideLakePlaces(options, setup.dataDir.lakeDir);
  const store = await openOwnStore(options, setup, prng.fork("store"));
  // Records of load tests are read here, the only files of the lake that are.
  const copiesDir = join(place.ownDir, "downloads");
  const copies = tables.kind === "directory" ? undefined : await openCopies(copiesDir, logger);
  // Without a catalog there are no tables.
  const lake = store && (await openLakeFiles(tables, { clock, ...(copies && { cache: copies }) }));
  const tracing = await startTracing({
    serviceName: role === "coordinator" ? "capstan-coordinator" : "capstan-query-api",
    instance: name,
    version,
    env: process.env,
  });
  const metrics = new Metrics({ process: role, version });
  const health = new HealthBoard({ clock, logger });
  const overflow = makeOverflowDir(place.ownDir);
  const overflowDirs = overflow === undefined ? [] : [overflow.path];
  showHealth(metrics, health);
  const verifiesHere = role === "coordinator";
  const condition = new DataCondition(health.part("stored_data"), { clock, verifiesHere });
  if (role === "coordinator") condition.show(metrics);
  const memoryBytes = options.memoryLimit ?? decideMemoryBytes("coordinator", machine());
  const memory = planMemory(memoryBytes, 0);
  warnOfSmallLimit(memoryBytes, memory.limitBytesMin, logger);
  const directories = await watchDirectories({
    places: watchedPlaces(options, setup.dataDir, { tables, metricsDir }),
    health,
    clock,
  });
  const engine = await startEngine({
    memoryLimitBytes: memory.engineBytes,
    treeLimitBytes: memoryBytes,
    threads: 2, // It reads results; the workers compute them.
    spoolDir: place.fetchedDir,
    readableDirs: [tables.kind === "directory" ? tables.root : copiesDir, ...overflowDirs],
    tempDir: join(place.ownDir, "temp"),
    connections: 4,
    clock,
    logger,
    observer: createEngineMetrics(metrics, memoryBytes),
    health: health.part("engine"),
  });
  const fetcher = await createHttpArtifactFetcher({
    token: setup.clusterToken,
    dir: place.fetchedDir,
    ...(overflow && { overflowDir: overflow.path }),
    clock,
    logger,
    ...clusterTlsOf(setup),
  });
  const node = createNode(options, setup, place, {
    store,
    fetcher,
    metrics,
    prng,
    health,
    condition,
  });
  const uploads =
    store === undefined
      ? undefined
      : await openUploads({
          dir: join(place.ownDir, "uploads"),
          clock,
          prng: prng.fork("uploads"),
          uploadsMax: limits.uploads,
          bytesMax: limits.upload_bytes,
          idleMsMax: limits.upload_idle_seconds * 1_000,
        });
  const catalog = store && new LakeStore({ store, prng: prng.fork("lake") });
  if (role === "coordinator" && store !== undefined && lake !== undefined) {
    const place = showLakeLocation(tables);
    const { objects } = lake;
    await claimLake({ store, objects, place, metricsDir, prng: prng.fork("lake-id") });
    await catalog?.declareDataPath(place);
  }
  const statements =
    store === undefined || uploads === undefined || catalog === undefined || lake === undefined
      ? undefined
      : new LakeStatements({
          catalog,
          dynamicTables: new DynamicTables({ store, clock, catalog, engine }),
          relations: createLoadRelations(store),
          objects: lake.objects,
          uploads,
          engine,
          manager: node.manager,
          clock,
          prng: prng.fork("statements"),
          logger,
        });
  const metricsParts = createMetricsParts({
    node,
    store,
    clock,
    prng: prng.fork("promql"),
    logger,
    clusterToken: setup.clusterToken,
    tls: setup.clusterTls,
    health,
    observer: observePromql(createPromqlMetrics(metrics), tracing),
    warmUp: options.warmUp !== "off",
    limits,
    memory: { limitBytes: memoryBytes, ...memory },
    leaseName,
    startHead: (ownStore, catalog, grant, health) =>
      startOwnHead({
        node,
        store: ownStore,
        catalog,
        grant,
        directories,
        holder: name,
        metrics,
        clock,
        prng: prng.fork("head"),
        logger,
        host: options.host,
        lakeDir: metricsDir,
        condition,
        scrub: scrubOf(options),
        clusterToken: setup.clusterToken,
        health,
        keepMetrics: options.keepMetrics,
        scrape,
        limits,
        ...clusterTlsOf(setup),
      }),
  });
  const loadParts =
    store === undefined || catalog === undefined || lake === undefined || statements === undefined
      ? undefined
      : await createLoadParts({
          node,
          store,
          leaseName,
          storeUrl: options.store ?? setup.dataDir.storePath,
          dataDir: setup.dataDir.path,
          allowedFiles: options.allowTargetFile ?? [],
          loadMemoryLimit: options.loadMemoryLimit,
          memory: { engineBytesMax: memory.engineBytes, treeBytesMax: memoryBytes },
          passwordEnvs: options.allowPasswordEnv ?? [],
          lake: options.lake,
          catalog,
          objects: lake.objects,
          stagingDir: join(place.ownDir, "load-staging"),
          statements,
          keepRuns: options.keepRuns,
          upkeepEvery: options.upkeepEvery,
          engine,
          apiUrl: place.apiUrl,
          clusterToken: setup.clusterToken,
          clock,
          prng: prng.fork("load"),
          logger,
        });
  createQueueMetrics(metrics, () => waitingWork(node, metricsParts.promql.waiting()));
  const api = await startApi(
    { ...apiConfig(options, setup, place, prng.fork("requests")), limits },
    createApiPorts({
      node,
      store,
      engine,
      statements,
      uploads,
      metrics,
      metricsParts,
      load: loadParts?.service,
      tracing,
      health,
      condition,
      clock,
      prng: prng.fork("queries"),
      logger,
      version,
      leaseName,
    }),
  );
  const tablesParts =
    store === undefined || catalog === undefined || lake === undefined || role === "query_api"
      ? undefined
      : createTablesParts({
          node,
          store,
          catalog,
          objects: lake.objects,
          condition,
          upkeep: upkeepOf(options),
          scrub: scrubOf(options),
          clock,
          metrics,
          prng: prng.fork("tables"),
          logger,
        });
  metricsParts.start();
  node.start();
  tablesParts?.start();
  if (role === "coordinator") loadParts?.start();
  const shown = { store: store?.dialect, lake: lake && showLakeLocation(tables) };
  logger.info({ url: api.url, role, version, ...shown }, "listening");
  await tellSupervisor({ kind: "ready", url: api.url });

  const reason = await Promise.race([stopping, metricsParts.failure]);
  const failed = reason instanceof OperatingError;
  logger.info({ reason: failed ? reason.message : reason }, "stopping");
  // Without its threads or a supervisor there is nobody to finish for.
  const drainMs = failed || reason === "supervisor gone" ? 0 : options.drainTimeout * 1000;
  await runStopSteps(
    [
      { name: "refuse", timeoutMs: 1_000, run: async () => api.drain() },
      { name: "stop scheduler", timeoutMs: 2_000, run: async () => await tablesParts?.stop() },
      { name: "stop load tests", timeoutMs: 3_000, run: async () => await loadParts?.stop() },
      { name: "close head", timeoutMs: 5_000, run: () => metricsParts.stopHead() },
      { name: "drain", timeoutMs: drainMs + 5_000, run: () => node.stop({ drainMs }) },
      { name: "close api", timeoutMs: 2_000, run: () => api.close() },
      { name: "force api", timeoutMs: 500, run: async () => api.force() },
      { name: "close promql", timeoutMs: 3_000, run: () => metricsParts.close() },
      { name: "close uploads", timeoutMs: 1_000, run: async () => await uploads?.close() },
      { name: "close fetcher", timeoutMs: 1_000, run: () => fetcher.close() },
      { name: "delete overflow", timeoutMs: 500, run: async () => overflow?.remove() },
      { name: "close engine", timeoutMs: 2_000, run: () => engine.close() },
      { name: "close lake", timeoutMs: 500, run: async () => lake?.close() },
      { name: "close copies", timeoutMs: 500, run: async () => await copies?.close() },
      { name: "close store", timeoutMs: 2_000, run: async () => await store?.close() },
      { name: "stop watching", timeoutMs: 500, run: async () => directories.close() },
      { name: "stop judging data", timeoutMs: 500, run: async () => condition.close() },
      { name: "send spans", timeoutMs: 2_000, run: () => tracing.close() },
    ],
    clock,
    logger,
  );
  place.lock.release();
  logger.info({}, "stopped");
  if (failed) throw reason;
}

/** Of files in S3 that DuckDB is to read. */
async function openCopies(dir: string, logger: ProcessSetup["logger"]) {
  const capacityBytes = 2 * 1024 ** 3;
  const budget = new DiskBudget({ capacityBytes, artifactFloorBytes: 0, ...defaultDiskRatios });
  return await openDownloadCache({ dir, budget, clock, logger });
}

/** Where this process lives: its directory, which nobody else uses, and its address. */
interface Place {
  readonly ownDir: string;
  readonly fetchedDir: string;
  readonly lock: { release(): void };
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly apiUrl: string;
}

async function takePlace(options: ControllerOptions, { dataDir }: ProcessSetup): Promise<Place> {
  const { name, host } = options;
  const ownDir = dataDir.ownDir("controllers", name);
  const lock = await lockDir(ownDir, "lock", clock, 5_000);
  const port = options.port === 0 ? await chooseFreePort(host) : options.port;
  const tls = readApiTls(options);
  const apiUrl = options.apiUrl ?? ownUrl(host, port, tls !== undefined);
  return { ownDir, fetchedDir: join(ownDir, "fetched"), lock, port, tls, apiUrl };
}

/** `undefined`: a query-api that finds its workers without one. */
async function openOwnStore(
  options: ControllerOptions,
  { dataDir, logger }: ProcessSetup,
  prng: Prng,
): Promise<Store | undefined> {
  if (options.role === "query_api" && options.discover !== "store") return undefined;
  const location = parseStoreUrl(options.store ?? dataDir.storePath);
  return await openStore({ ...location, clock, logger, prng });
}

interface NodeParts {
  readonly condition: DataCondition;
  readonly store: Store | undefined;
  readonly fetcher: ArtifactFetcher;
  readonly metrics: Metrics;
  readonly prng: Prng;
  readonly health: Health;
}

function createNode(
  options: ControllerOptions,
  setup: ProcessSetup,
  { ownDir, apiUrl }: Place,
  { store, fetcher, metrics, prng, health, condition }: NodeParts,
): ControllerNode {
  const { role, name } = options;
  const { logger, clusterToken } = setup;
  const controllerId = parseControllerId(`${name}-${randomText(prng, 12)}`);
  assert(controllerId !== undefined, "a controller's id has the form of one");
  const discovery = parseDiscovery(options.discover, clock, logger);
  const node: ControllerNode = new ControllerNode({
    role,
    controllerId,
    clock,
    prng,
    logger,
    fetcher,
    health,
    dialer: createGrpcDialer({ token: clusterToken, clock, logger, ...clusterTlsOf(setup) }),
    queryObserver: {
      ...createApiQueryMetrics(metrics),
      dataCorrupt: (what, message) => condition.met(what, message),
    },
    sessionObserver: createSessionMetrics(metrics),
    ...(store === undefined ? {} : { store }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(role === "query_api"
      ? {}
      : { lease: { name: leaseName, holder: readHolderId(ownDir, name, prng), apiUrl } }),
  });
  return node;
}

function apiConfig(
  options: ControllerOptions,
  { tokens, clusterToken }: ProcessSetup,
  { port, tls, apiUrl }: Place,
  prng: Prng,
): ApiConfig {
  const { host, allowHost = [], allowOrigin = [] } = options;
  const { root, version } = packageInfo();
  const hosts = [new URL(apiUrl).hostname, ...allowHost];
  return {
    host,
    port,
    version,
    prng,
    dashboardDirs: [join(root, "web", "dist"), join(root, "dist", "web")],
    access: {
      tokens,
      clusterToken,
      guard: new RequestGuard({ bindHost: host, hosts, origins: allowOrigin }),
    },
    ...(tls === undefined ? {} : { tls }),
  };
}

function clusterTlsOf({ clusterTls }: ProcessSetup): { tls?: ClusterTls } {
  return clusterTls === undefined ? {} : { tls: clusterTls };
}

/** Bound to every address, the machine's name is the one that others can use. */
function ownUrl(host: string, port: number, secure: boolean): string {
  const name = host === "0.0.0.0" || host === "::" ? hostname() : host;
  return `${secure ? "https" : "http"}://${hostPort(name, port)}`;
}

function readApiTls({
  tlsCert,
  tlsKey,
}: ControllerOptions): { readonly cert: string; readonly key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new OperatingError("bad_request", "never", "--tls-cert and --tls-key go together");
  }
  return {
    cert: readSecretFile(tlsCert, "--tls-cert"),
    key: readSecretFile(tlsKey, "--tls-key"),
  };
}

/** What is not given is as `UpkeepLoop` has it. */
function scrubOf({ scrubEvery, upkeepEvery }: ControllerOptions) {
  return {
    ...(scrubEvery === undefined ? {} : { periodMs: scrubEvery }),
    ...(upkeepEvery === undefined ? {} : { everyMs: upkeepEvery }),
  };
}

function upkeepOf({ keepSnapshots, deleteAfter, upkeepEvery }: ControllerOptions) {
  return {
    limits: {
      ...(keepSnapshots === undefined ? {} : { snapshotMsMax: keepSnapshots }),
      ...(deleteAfter === undefined ? {} : { graceMs: deleteAfter }),
    },
    ...(upkeepEvery === undefined ? {} : { everyMs: upkeepEvery }),
  };
}
