/** Opens what all kinds of work share in a worker. */

import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Engine } from "../data/duckdb/index.ts";
import { createEngineMetrics, startEngine } from "../data/duckdb/index.ts";
import type { LakePlaces } from "../data/lake/index.ts";
import {
  createDownloadMetrics,
  decideLakePlaces,
  emptyStaging,
  LakeStore,
  openDownloadCache,
  openLakeFiles,
} from "../data/lake/index.ts";
import type { StoreOfWorker, WorkerContext } from "../data/parts/index.ts";
import { assert, OperatingError } from "../ground/kernel/errors.ts";
import type { Incarnation, WorkerId } from "../ground/kernel/ids.ts";
import { parseIncarnation, parseWorkerId } from "../ground/kernel/ids.ts";
import { randomText } from "../ground/kernel/prng.ts";
import type { Part, ProcessContext } from "../ground/process/index.ts";
import {
  closing,
  decideWorkerShares,
  MemoryBudget,
  openProcess,
  RoomWatch,
  setUpProcess,
  watchDirectories,
} from "../ground/process/index.ts";
import type { Store, WatchedTables } from "../ground/store/index.ts";
import { openStore, parseStoreUrl } from "../ground/store/index.ts";
import type { FsArtifactSpool } from "../ground/work/index.ts";
import {
  DiskBudget,
  defaultDiskRatios,
  openColumnFiles,
  openFsArtifactSpool,
} from "../ground/work/index.ts";
import type { WorkerOptions } from "./options.ts";

export interface OpenedWorker {
  readonly context: OwnContext | (OwnContext & StoreOfWorker);
  /** In the order in which they were opened; they are closed in reverse (PR16). */
  readonly parts: readonly Part[];
}

/** What the worker's own servers need in addition. */
export interface OwnContext extends WorkerContext {
  readonly incarnation: Incarnation;
  readonly spool: FsArtifactSpool;
}

const diskBytesDefault = 10 * 1024 ** 3;

export async function openWorker(
  options: WorkerOptions,
  watched: WatchedTables,
): Promise<OpenedWorker> {
  const workerId = workerIdOf(options.name ?? hostname());
  const setup = setUpProcess(options, workerId, "worker");
  const { context: ground, part } = await openProcess(setup, options, workerId, {
    role: "worker",
    memoryLimit: options.memoryLimit,
    decideShares: (given) => {
      const { slots, computeThreads, columnCache: columnBytes } = options;
      return decideWorkerShares({ ...given, slots, computeThreads, columnBytes });
    },
  });
  const incarnation = parseIncarnation(`i-${randomText(ground.prng, 16)}`);
  assert(incarnation !== undefined, "an incarnation has the form of one");
  const workMemory = new MemoryBudget(ground.shares.memory.workBytes);
  const places = decideLakePlaces(options, setup.dataDir.lakeDir);
  const files = await openFiles(ground, options, incarnation, places);
  const base = { ...ground, ...files, workerId, incarnation, workMemory, places };
  const engine = await openEngine(base);
  const context = { ...base, engine };
  const parts = [part, ...files.parts, closing("engine", 2_000, () => engine.close())];
  const store = await openClaimStore(context, options, watched);
  if (store === undefined) return { context, parts };
  const storeUrl = options.store ?? setup.dataDir.storePath;
  const catalog = new LakeStore({ store, prng: ground.prng.fork("catalog") });
  return {
    context: { ...context, store, storeUrl, catalog },
    parts: [...parts, closing("store", 2_000, () => store.close())],
  };
}

/**
 * Opens the worker's disk: decoded columns, copies of files, artifacts, and files being written.
 */
async function openFiles(
  process: ProcessContext,
  options: WorkerOptions,
  incarnation: Incarnation,
  places: LakePlaces,
) {
  const { ownDir, health, clock } = process;
  const own = { part: "data_dir", name: "the worker's directory", path: ownDir };
  const directories = await watchDirectories({ ...process, places: [own] });
  const { columnFiles, cache, spool } = await openCaches(process, options, incarnation);
  const lake = await openLakeFiles(places.tables, { clock, cache });
  const stagingDir = join(ownDir, "staging");
  await emptyStaging(stagingDir);
  const room = watchRoom({ health, clock }, stagingDir, places);
  const parts = [
    closing("watching", 500, () => {
      directories.close();
      room.close();
    }),
    closing("columns", 2_000, () => columnFiles.close()),
    closing("downloads", 2_000, () => cache.close()),
    closing("spool", 2_000, () => spool.close()),
    closing("lake", 500, () => lake.close()),
  ];
  return { columnFiles, spool, objects: lake.objects, stagingDir, room, parts };
}

/** Opens the directories that share the worker's disk budget. */
async function openCaches(
  { ownDir, overflowDir, metrics, clock, logger }: ProcessContext,
  { diskLimit: capacityBytes = diskBytesDefault }: WorkerOptions,
  incarnation: Incarnation,
) {
  const artifactFloorBytes = Math.floor(capacityBytes / 2);
  const budget = new DiskBudget({ capacityBytes, artifactFloorBytes, ...defaultDiskRatios });
  const columnFiles = await openColumnFiles(join(ownDir, "columns"), budget, logger);
  // Opened before the spool, so that existing copies are counted before anything new is admitted.
  const cache = await openDownloadCache({
    dir: join(ownDir, "downloads"),
    budget,
    onEvictedOther: (eviction) => columnFiles.evicted(eviction),
    observer: createDownloadMetrics(metrics, () => budget.usage().byTenant.parquet_cache),
    clock,
    logger,
  });
  const spool = await openFsArtifactSpool({
    baseDir: join(ownDir, "spool"),
    ...overflowDir,
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
  return { columnFiles, cache, spool };
}

function watchRoom(
  { health, clock }: Pick<ProcessContext, "health" | "clock">,
  stagingDir: string,
  { tables }: LakePlaces,
): RoomWatch {
  const places = [stagingDir, ...(tables.kind === "directory" ? [tables.root] : [])];
  return new RoomWatch({ places, health: health.part("disk"), clock });
}

async function openEngine(base: Omit<OwnContext, "engine">): Promise<Engine> {
  const { shares, spool, stagingDir, places, ownDir, metrics, health, clock, logger } = base;
  const { cpu, memory } = shares;
  const { overflowDir } = base.overflowDir;
  return await startEngine({
    memoryLimitBytes: memory.engineBytes,
    treeLimitBytes: memory.limitBytes,
    threads: cpu.engineThreads,
    spoolDir: spool.writeDir,
    readableDirs: [
      places.tables.kind === "directory" ? places.tables.root : join(ownDir, "downloads"),
      stagingDir,
      ...(overflowDir === undefined ? [] : [join(overflowDir, "writing")]),
    ],
    connections: cpu.slots,
    clock,
    logger,
    observer: createEngineMetrics(metrics, memory.limitBytes),
    health: health.part("engine"),
  });
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

/** Undefined when the store is on another machine and this worker was not told where. */
async function openClaimStore(
  { dataDir, clock, logger, prng }: ProcessContext,
  { store, schemaDir }: WorkerOptions,
  watched: WatchedTables,
): Promise<Store | undefined> {
  if (store === undefined && !existsSync(dataDir.storePath)) return undefined;
  const location = parseStoreUrl(store ?? dataDir.storePath);
  return await openStore({
    ...location,
    clock,
    logger,
    prng: prng.fork("store"),
    watched,
    schemaDir,
  });
}
