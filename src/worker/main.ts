import { existsSync } from "node:fs";
/** A worker: builds the objects, starts them, waits, stops them. What they do is elsewhere. */
import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
import { startControlServer } from "../cluster/index.ts";
import { assert, OperatingError } from "../kernel/errors.ts";
import { HealthBoard } from "../kernel/health.ts";
import { parseIncarnation, parseWorkerId, type WorkerId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { sameSecret } from "../kernel/node/secrets.ts";
import { createSystemPrng } from "../kernel/node/system-random.ts";
import type { Prng } from "../kernel/prng.ts";
import { randomText } from "../kernel/prng.ts";
import {
  createLakeQueryExecutor,
  createLakeWriteExecutor,
  decideLakePlaces,
  emptyStaging,
  LakeStore,
  lakeQueryWorkKind,
  lakeWriteWorkKind,
  openDownloadCache,
  openLakeFiles,
  showLakeLocation,
} from "../lake/index.ts";
import { createLocalSpawner, ProcessHost, ProcessStore } from "../load/index.ts";
import {
  createDownloadMetrics,
  createEngineMetrics,
  createPromqlWorkerMetrics,
  createWorkerQueryMetrics,
  FactsReporter,
  Metrics,
  showHealth,
  startTracing,
} from "../observe/index.ts";
import {
  decideMemoryBytes,
  hostPort,
  lockDir,
  machine,
  makeOverflowDir,
  type ProcessOptions,
  packageInfo,
  planMemory,
  RoomWatch,
  runStopSteps,
  type StopReason,
  setUpProcess,
  stopRequested,
  tellSupervisor,
  warnOfSmallLimit,
  watchDirectories,
} from "../process/index.ts";
import {
  createPromqlExecutor,
  createSqlExecutor,
  DiskBudget,
  defaultDiskRatios,
  dispatchByKind,
  openColumnFiles,
  openFsArtifactSpool,
  promqlBytesOf,
  promqlWorkKind,
  sqlWorkKind,
  startArtifactServer,
  startEngine,
} from "../queries/index.ts";
import { openStore, parseStoreUrl, type Store } from "../store/index.ts";
import {
  createLakeRefresher,
  createPartRunner,
  RefreshLoop,
  readAbility,
  StoreRefreshClaims,
  StoreSubtaskClaims,
} from "../tables/index.ts";
import { isAbleTo } from "./able-to.ts";
import { startMonitor } from "./monitor-server.ts";
import { registerOnce } from "./register-client.ts";
import { Registration } from "./registration.ts";
import { tellHealth } from "./tell-health.ts";
import { WorkerNode } from "./worker-node.ts";

/** As the command line gives them. */
export interface WorkerOptions extends ProcessOptions {
  readonly join?: readonly string[];
  readonly name?: string;
  readonly advertiseHost?: string;
  readonly grpcPort: number;
  readonly dataPort: number;
  readonly metricsPort: number;
  readonly slots?: number;
  /** Of this process and all that descend from it. */
  readonly memoryLimit?: number;
  readonly columnCache?: number;
  readonly computeThreads?: number;
  /** Of tables, and of metrics unless `metricsDir` says otherwise or it is no directory. */
  readonly lake?: string;
  readonly metricsDir?: string;
  /** Where refreshes are claimed, and load workers asked for; the data directory's when absent and there. Without one this worker does neither. */
  readonly store?: string;
  /** Full refreshes that read so many rows are split among workers. */
  readonly splitRows?: number;
  readonly allowTargetFile?: readonly string[];
  readonly loadMemoryLimit?: number;
  /** A dynamic table whose refreshes fail for so many milliseconds is suspended. */
  readonly suspendAfter?: number;
  readonly diskLimit?: number;
  readonly drainTimeout: number;
}

const clock = realClock;
const diskBytesDefault = 10 * 1024 ** 3;
/**
 * What a day of 5,000 series takes; more is on the disk, decoded, and in the system's cache of it.
 */
const columnBytesDefault = 160 * 1024 ** 2;

/** Resolves with the reason when it was told to stop and has stopped; throws when the cluster will not have it. */
export async function runWorker(options: WorkerOptions): Promise<StopReason> {
  const asked = stopRequested();
  const workerId = workerIdOf(options.name ?? hostname());
  const { dataDir, logger, tokens, clusterToken, clusterTls } = setUpProcess(
    options,
    workerId,
    "worker",
  );
  const { version } = packageInfo();
  const prng = createSystemPrng();
  const incarnation = parseIncarnation(`i-${randomText(prng, 16)}`);
  assert(incarnation !== undefined, "an incarnation has the form of one");
  const ownDir = dataDir.ownDir("workers", workerId);
  const lock = await lockDir(ownDir, "lock", clock, 5_000);
  const host = options.host;
  const advertisedHost = options.advertiseHost ?? advertisedOf(host);
  const slots = options.slots ?? availableParallelism();
  const tls = clusterTls === undefined ? {} : { tls: clusterTls };

  const capacityBytes = options.diskLimit ?? diskBytesDefault;
  const artifactFloorBytes = Math.floor(capacityBytes / 2);
  const budget = new DiskBudget({ capacityBytes, artifactFloorBytes, ...defaultDiskRatios });
  const metrics = new Metrics({ process: "worker", version });
  const health = new HealthBoard({ clock, logger });
  showHealth(metrics, health);
  const directories = await watchDirectories({
    places: [{ part: "data_dir", name: "the worker's directory", path: ownDir }],
    health,
    clock,
  });
  const columnFiles = await openColumnFiles(join(ownDir, "columns"), budget, logger);
  // Before the spool: what is in it already is counted before anything new is let in.
  const cacheDir = join(ownDir, "downloads");
  const cache = await openDownloadCache({
    dir: cacheDir,
    budget,
    onEvictedOther: (eviction) => columnFiles.evicted(eviction),
    observer: createDownloadMetrics(metrics, () => budget.usage().byTenant.parquet_cache),
    clock,
    logger,
  });
  const overflow = makeOverflowDir(ownDir);
  const overflowDirs = overflow === undefined ? [] : [join(overflow.path, "writing")];
  const spool = await openFsArtifactSpool({
    baseDir: join(ownDir, "spool"),
    ...(overflow && { overflowDir: overflow.path }),
    incarnation,
    capacityBytes,
    budget,
    onEvictedOther: (eviction) => {
      columnFiles.evicted(eviction);
      cache.evicted(eviction);
    },
    clock,
    logger,
  });
  const memoryBytes = options.memoryLimit ?? decideMemoryBytes("worker", machine());
  const columnBytes = options.columnCache ?? Math.min(columnBytesDefault, memoryBytes / 4);
  const memory = planMemory(memoryBytes, columnBytes);
  warnOfSmallLimit(memoryBytes, memory.limitBytesMin, logger);
  const computeThreads = options.computeThreads ?? availableParallelism();
  const { tables, metricsDir } = decideLakePlaces(options, dataDir.lakeDir);
  const lake = await openLakeFiles(tables, { clock, cache });
  const { objects } = lake;
  const stagingDir = join(ownDir, "staging");
  await emptyStaging(stagingDir);
  const room = new RoomWatch({
    places: [stagingDir, ...(tables.kind === "directory" ? [tables.root] : [])],
    health: health.part("disk"),
    clock,
  });
  const [engine, promql] = await Promise.all([
    startEngine({
      memoryLimitBytes: memory.engineBytes,
      treeLimitBytes: memoryBytes,
      threads: availableParallelism(),
      spoolDir: spool.writeDir,
      readableDirs: [
        tables.kind === "directory" ? tables.root : cacheDir,
        stagingDir,
        ...overflowDirs,
      ],
      connections: slots,
      clock,
      logger,
      observer: createEngineMetrics(metrics, memoryBytes),
      health: health.part("engine"),
    }),
    createPromqlExecutor({
      threads: computeThreads,
      lakeDir: metricsDir,
      clusterToken,
      cacheBytes: columnBytes,
      memoryBytesMax: promqlBytesOf({ limitBytes: memoryBytes, ...memory }),
      columnFiles,
      warmUp: options.warmUp !== "off",
      clock,
      logger,
      observer: createPromqlWorkerMetrics(metrics, () => columnFiles.usedBytes()),
      ...tls,
    }),
  ]);
  const tracing = await startTracing({
    serviceName: "capstan-worker",
    instance: workerId,
    version,
    env: process.env,
  });
  const artifacts = await startArtifactServer({
    host,
    port: options.dataPort,
    token: clusterToken,
    spool,
    logger,
    ...tls,
  });
  const scheme = clusterTls === undefined ? "http" : "https";
  const dataUrl = `${scheme}://${hostPort(advertisedHost, artifacts.port)}`;

  const ended = Promise.withResolvers<StopReason | OperatingError>();
  const registration = new Registration(
    clock,
    async () => {
      const config = { urls: options.join ?? [], clusterToken, clock, timeoutMs: 5_000 };
      await registerOnce(config, {
        worker_id: workerId,
        host_name: advertisedHost,
        grpc_port: control.port,
        data_port: artifacts.port,
        capacity: slots,
        incarnation,
        software_version: version,
      });
    },
    (hopeless) => ended.resolve(hopeless),
  );
  const executor = dispatchByKind({
    [sqlWorkKind]: createSqlExecutor(engine),
    [promqlWorkKind]: promql,
    [lakeQueryWorkKind]: createLakeQueryExecutor(engine, objects),
    [lakeWriteWorkKind]: createLakeWriteExecutor({
      engine,
      objects,
      stagingDir,
      prng: prng.fork("lake"),
    }),
  });
  const node = new WorkerNode({
    clock,
    prng,
    logger,
    workerId,
    incarnation,
    softwareVersion: version,
    capacity: slots,
    executor: tracing.traceExecutor({
      execute: (...work) => room.noting(executor.execute(...work)),
    }),
    spool,
    dataUrl: () => dataUrl,
    limits: { slots },
    observer: createWorkerQueryMetrics(metrics),
    onDropped: () => ended.resolve("dropped"),
    registerBackoff: { minMs: 100, maxMs: 5_000 },
    ...(options.join === undefined ? {} : { register: () => registration.attempt() }),
  });
  const control = await startControlServer({
    host,
    port: options.grpcPort,
    token: clusterToken,
    accept: node.accept,
    clock,
    logger,
    ...tls,
  });
  const monitor = await startMonitor({
    logger,
    host,
    port: options.metricsPort,
    hosts: [advertisedHost],
    metrics,
    ready: () => {
      const parts = health.parts();
      const blocker = health.blocker();
      const reason =
        blocker !== undefined
          ? `${blocker.name}: ${blocker.reason}`
          : node.registered
            ? undefined
            : "not registered with a coordinator";
      return reason === undefined ? { ready: true, parts } : { ready: false, reason, parts };
    },
    mayRead: (token) => sameSecret(clusterToken, token) || tokens.roleOf(token) !== undefined,
  });
  const facts = new FactsReporter(clock, node.endpoint, {
    counts: () => node.manager.counts(),
    spool: () => spool.usage(),
  });
  facts.start();
  const stopTelling = tellHealth(health, node);
  node.endpoint.setFact("compute_threads", String(computeThreads));
  node.endpoint.setFact("metrics_url", `http://${hostPort(advertisedHost, monitor.port)}/metrics`);
  const store = await openClaimStore(options, dataDir.storePath, logger, prng.fork("store"));
  const catalog = store && new LakeStore({ store, prng: prng.fork("catalog") });
  const claims =
    store &&
    new StoreRefreshClaims(store, {
      prng: prng.fork("claims"),
      pins: catalog,
      ...(options.suspendAfter === undefined ? {} : { suspendAfterMs: options.suspendAfter }),
    });
  await claims?.expireWorker(workerId, "the worker started anew");
  const ability = readAbility();
  const refreshParts = catalog && {
    catalog,
    engine,
    objects,
    stagingDir,
    prng: prng.fork("refresh"),
  };
  const refresher =
    refreshParts &&
    createLakeRefresher({
      ...refreshParts,
      logger,
      clock,
      split: {
        ability,
        ...(options.splitRows === undefined ? {} : { rowsMin: options.splitRows }),
      },
    });
  const runner = refreshParts && createPartRunner(refreshParts, ability);
  const refreshes =
    store &&
    refresher &&
    runner &&
    claims &&
    new RefreshLoop({
      workerId,
      claims,
      parts: {
        claims: new StoreSubtaskClaims(store, { prng: prng.fork("subtasks") }),
        runner: { ability, run: (...part) => room.noting(runner.run(...part)) },
      },
      refresher: { refresh: (...claimed) => room.noting(refresher.refresh(...claimed)) },
      isAble: () => isAbleTo("refreshes", health, node),
      onPoke: (listener) => {
        const stops = [store.onPoke(listener), health.onChange(listener)];
        return () => {
          for (const stop of stops) stop();
        };
      },
      clock,
      prng: prng.fork("polls"),
      logger,
    });
  const loadProcesses =
    store &&
    new ProcessHost({
      name: workerId,
      hostName: hostname(),
      processes: new ProcessStore(store),
      isAble: () => isAbleTo("load", health, node),
      spawner: createLocalSpawner({
        storeUrl: options.store ?? dataDir.storePath,
        dataDir: dataDir.path,
        allowedFiles: options.allowTargetFile ?? [],
        loadMemoryLimit: options.loadMemoryLimit,
        lake: options.lake,
        clusterToken,
        clock,
        logger,
      }),
      clock,
      prng: prng.fork("load"),
      logger,
    });
  const tellLoad = (): void => {
    if (isAbleTo("load", health, node)) node.endpoint.setFact("starts_load", "yes");
    else node.endpoint.unsetFact("starts_load");
  };
  const stopTellingLoad = loadProcesses && health.onChange(tellLoad);
  if (loadProcesses !== undefined) tellLoad();
  node.start();
  refreshes?.start();
  loadProcesses?.start();
  logger.info(
    {
      worker_id: workerId,
      incarnation,
      grpc_port: control.port,
      data_url: dataUrl,
      lake: showLakeLocation(tables),
      version,
    },
    "listening",
  );
  await tellSupervisor({ kind: "ready", url: `http://${hostPort(host, monitor.port)}` });

  asked.then(ended.resolve, ended.reject);
  promql.failure.then(ended.resolve, ended.reject);
  const reason = await ended.promise;
  const failed = reason instanceof OperatingError;
  logger.info({ reason: failed ? reason.code : reason }, "stopping");
  // Nobody fetches what a worker without a supervisor, or without a cluster, would still finish.
  const drainMs = reason === "SIGTERM" || reason === "SIGINT" ? options.drainTimeout * 1000 : 0;
  await runStopSteps(
    [
      {
        name: "stop refreshes",
        timeoutMs: 5_000,
        run: async () => await refreshes?.stop(),
      },
      {
        name: "stop load processes",
        timeoutMs: 2_000,
        run: async () => await loadProcesses?.stop(),
      },
      {
        name: "drain",
        timeoutMs: drainMs + 1_000,
        run: async () => void (await node.drain(drainMs)),
      },
      { name: "close sessions", timeoutMs: 2_000, run: () => node.stop() },
      { name: "close control server", timeoutMs: 2_000, run: () => control.close() },
      { name: "close artifact server", timeoutMs: 2_000, run: () => artifacts.close() },
      { name: "close monitor", timeoutMs: 1_000, run: () => monitor.close() },
      { name: "close store", timeoutMs: 2_000, run: async () => await store?.close() },
      { name: "close engine", timeoutMs: 2_000, run: () => engine.close() },
      { name: "close compute threads", timeoutMs: 3_000, run: () => promql.close() },
      { name: "close downloads", timeoutMs: 2_000, run: () => cache.close() },
      { name: "close lake", timeoutMs: 500, run: async () => lake.close() },
      { name: "delete spool", timeoutMs: 2_000, run: () => spool.close() },
      { name: "delete overflow", timeoutMs: 500, run: async () => overflow?.remove() },
      { name: "delete columns", timeoutMs: 2_000, run: () => columnFiles.close() },
      {
        name: "stop watching",
        timeoutMs: 500,
        run: async () => {
          directories.close();
          room.close();
        },
      },
      { name: "send spans", timeoutMs: 2_000, run: () => tracing.close() },
    ],
    clock,
    logger,
  );
  facts.stop();
  stopTelling();
  stopTellingLoad?.();
  lock.release();
  logger.info({}, "stopped");
  if (failed) throw reason;
  return reason;
}

function workerIdOf(text: string): WorkerId {
  const workerId = parseWorkerId(text.toLowerCase().replace(/\..*$/, ""));
  if (workerId !== undefined) return workerId;
  throw new OperatingError(
    "bad_request",
    "never",
    `${JSON.stringify(text)} is not a worker's name`,
    {
      hint: "Lower-case letters, digits and hyphens, 63 at most; choose one with --name.",
    },
  );
}

/** Bound to every address, the machine's name is the one that coordinators can use. */
function advertisedOf(host: string): string {
  return host === "0.0.0.0" || host === "::" ? hostname() : host;
}

/** `undefined`: the store is on another machine, and this worker was not told where. */
async function openClaimStore(
  { store }: WorkerOptions,
  ownPath: string,
  logger: Logger,
  prng: Prng,
): Promise<Store | undefined> {
  if (store === undefined && !existsSync(ownPath)) return undefined;
  return await openStore({ ...parseStoreUrl(store ?? ownPath), clock, logger, prng });
}
