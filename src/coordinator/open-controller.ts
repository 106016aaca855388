/** Opens what all kinds of work share in a coordinator or a query-api. */

import { join } from "node:path";
import type { Engine } from "../data/duckdb/index.ts";
import { createEngineMetrics, startEngine } from "../data/duckdb/index.ts";
import type { LakePlaces } from "../data/lake/index.ts";
import { decideLakePlaces } from "../data/lake/index.ts";
import type { ControllerContext, CoordinatorContext } from "../data/parts/index.ts";
import {
  type ChannelOffer,
  createGrpcDialer,
  createSessionMetrics,
  parseDiscovery,
} from "../ground/cluster/index.ts";
import { assert } from "../ground/kernel/errors.ts";
import { parseControllerId } from "../ground/kernel/ids.ts";
import { randomText } from "../ground/kernel/prng.ts";
import { DataCondition } from "../ground/observe/index.ts";
import type { Part, ProcessContext } from "../ground/process/index.ts";
import {
  checkBind,
  closing,
  decideControllerShares,
  openProcess,
  parseLimits,
  setUpProcess,
  watchDirectories,
} from "../ground/process/index.ts";
import type { Store, WatchedTables } from "../ground/store/index.ts";
import { openStore, parseStoreUrl } from "../ground/store/index.ts";
import {
  ControllerNode,
  createApiQueryMetrics,
  createHttpArtifactFetcher,
  Leadership,
  leaseName,
  readHolderId,
} from "../ground/work/index.ts";
import { chooseAddress } from "./address.ts";
import { copiesDirOf, openTables } from "./open-tables.ts";
import type { ControllerOptions } from "./options.ts";
import { watchedPlaces } from "./watched-places.ts";

export interface OpenedController {
  readonly context: ControllerContext | CoordinatorContext;
  /** In the order in which they were opened; they are closed in reverse (PR16). */
  readonly parts: readonly Part[];
}

/** What kinds of work need of what is opened before their parts. */
export interface KindsNeeds {
  readonly watched: WatchedTables;
  readonly channels: readonly ChannelOffer[];
}

export async function openController(
  options: ControllerOptions,
  { watched, channels }: KindsNeeds,
): Promise<OpenedController> {
  const { role, name } = options;
  const setup = setUpProcess(options, name, "controller");
  const limits = parseLimits(options.limit ?? []);
  checkBind(options.host, setup.tokens.size > 0 ? "tokens" : "nothing", "the API");
  const { context: ground, part } = await openProcess(setup, options, name, {
    role,
    memoryLimit: options.memoryLimit,
    decideShares: decideControllerShares,
  });
  const address = await chooseAddress(options);
  const places = decideLakePlaces(options, setup.dataDir.lakeDir);
  const watching = await watchData(ground, options, places);
  const base = { ...ground, ...watching, ...address, role, limits, places };
  const store = await openOwnStore(base, options, watched);
  const engine = await openEngine(base);
  const { node, fetcher } = await openNode(base, options, store, channels);
  const leadership = new Leadership({ node, store, health: base.health });
  const context = { ...base, engine, node, leadership };
  const parts = [
    part,
    closing("watching", 500, () => {
      watching.directories.close();
      watching.condition.close();
    }),
    ...(store === undefined ? [] : [closing("store", 2_000, () => store.close())]),
    closing("engine", 2_000, () => engine.close()),
    closing("fetcher", 1_000, () => fetcher.close()),
  ];
  if (store === undefined) return { context, parts };
  const lake = await openTables(context, options, store);
  return { context: lake.context, parts: [...parts, ...lake.parts] };
}

type Base = Omit<ControllerContext, "engine" | "node" | "leadership">;

async function watchData(
  { health, clock, logger, metrics, dataDir }: ProcessContext,
  options: ControllerOptions,
  places: LakePlaces,
) {
  const verifiesHere = options.role === "coordinator";
  const condition = new DataCondition(health.part("stored_data"), { clock, verifiesHere });
  if (verifiesHere) condition.show(metrics);
  const watched = watchedPlaces(options, dataDir, places);
  const directories = await watchDirectories({ places: watched, health, clock, logger });
  return { condition, directories };
}

/** Undefined for a query-api that finds its workers without a store. */
async function openOwnStore(
  { dataDir, clock, logger, prng }: Base,
  { role, discover, store, schemaDir }: ControllerOptions,
  watched: WatchedTables,
): Promise<Store | undefined> {
  if (role === "query_api" && discover !== "store") return undefined;
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

async function openEngine(base: Base): Promise<Engine> {
  const { shares, ownDir, places, overflowDir, metrics, health, clock, logger } = base;
  const { cpu, memory } = shares;
  return await startEngine({
    memoryLimitBytes: memory.engineBytes,
    treeLimitBytes: memory.limitBytes,
    threads: cpu.engineThreads,
    spoolDir: join(ownDir, "fetched"),
    readableDirs: [
      places.tables.kind === "directory" ? places.tables.root : copiesDirOf(ownDir),
      ...Object.values(overflowDir),
    ],
    tempDir: join(ownDir, "temp"),
    connections: cpu.slots,
    clock,
    logger,
    observer: createEngineMetrics(metrics, memory.limitBytes),
    health: health.part("engine"),
  });
}

async function openNode(
  base: Base,
  options: ControllerOptions,
  store: Store | undefined,
  channels: readonly ChannelOffer[],
) {
  const { role, name, ownDir, clusterToken: token, tls, clock, logger, prng, metrics } = base;
  const fetcher = await createHttpArtifactFetcher({
    token,
    dir: join(ownDir, "fetched"),
    ...base.overflowDir,
    clock,
    logger,
    ...tls,
  });
  const controllerId = parseControllerId(`${name}-${randomText(prng, 12)}`);
  assert(controllerId !== undefined, "a controller's id has the form of one");
  const discovery = parseDiscovery(options.discover, clock, logger);
  const holder = readHolderId(ownDir, name, prng);
  const node = new ControllerNode({
    role,
    controllerId,
    clock,
    prng,
    logger,
    fetcher,
    channels: role === "coordinator" ? channels : [],
    health: base.health,
    dialer: createGrpcDialer({ token, clock, logger, ...tls }),
    queryObserver: {
      ...createApiQueryMetrics(metrics),
      dataCorrupt: (what, message) => base.condition.met(what, message),
    },
    sessionObserver: createSessionMetrics(metrics),
    ...(store === undefined ? {} : { store }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(role === "query_api" ? {} : { lease: { name: leaseName, holder, apiUrl: base.apiUrl } }),
  });
  return { node, fetcher };
}
