/**
 * The coordinator's part of the lake and of dynamic tables. While it leads, it schedules refreshes,
 * frees the claims of lost workers, and runs the lake's upkeep.
 */

import {
  LakeScrub,
  type LakeStore,
  LakeUpkeep,
  type ObjectStore,
  UpkeepLoop,
  type UpkeepLoopOptions,
} from "../../../data/lake/index.ts";
import type { ControllerPart, CoordinatorContext } from "../../../data/parts/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { ScrubLimits } from "../../../ground/kernel/scrub.ts";
import type { DataCondition, Metrics } from "../../../ground/observe/index.ts";
import { stopStep } from "../../../ground/process/index.ts";
import { Loop } from "../../../ground/reconcile/index.ts";
import type { Store } from "../../../ground/store/index.ts";
import type { ControllerNode } from "../../../ground/work/index.ts";
import { readTablesAttention } from "../http/attention.ts";
import { tableRoutes } from "../http/table-routes.ts";
import { createTablesPort } from "../http/tables-port.ts";
import { createRefreshMetrics } from "../refresh-metrics.ts";
import { DynamicTables } from "../statements/dynamic-tables.ts";
import type { ClaimSettings } from "../store/claim-settings.ts";
import { type RefreshBacklog, readBacklog } from "../store/overview.ts";
import { RefreshDurations } from "../store/refresh-history.ts";
import { RefreshScheduler } from "../store/scheduler.ts";
import { lakeSourceChanges } from "../store/source-changes.ts";
import { StoreRefreshClaims } from "../store/store-refresh-claims.ts";

export interface TablesPartsConfig {
  readonly node: ControllerNode;
  readonly store: Store;
  readonly catalog: LakeStore;
  readonly objects: ObjectStore;
  readonly clock: Clock;
  /** Undefined when nothing reads the gauges. */
  readonly metrics: Metrics | undefined;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly claims?: Partial<ClaimSettings>;
  /** When absent, files are not verified. */
  readonly condition?: DataCondition;
  readonly scrub?: Partial<ScrubLimits>;
  readonly upkeep?: Pick<UpkeepLoopOptions, "everyMs" | "limits">;
  readonly parts?: Partial<TablesPartClasses>;
}

/** The classes that the part builds. The simulator's planted bugs are subclasses of them. */
export interface TablesPartClasses {
  readonly StoreRefreshClaims: typeof StoreRefreshClaims;
  readonly RefreshScheduler: typeof RefreshScheduler;
  readonly UpkeepLoop: typeof UpkeepLoop;
}

const productionClasses: TablesPartClasses = { StoreRefreshClaims, RefreshScheduler, UpkeepLoop };

/** The maximum age of the gauges. */
const lookMs = 2_000;

export interface TablesParts {
  start(): void;
  stop(): Promise<void>;
}

function createScrub(
  { store, objects, logger, scrub }: TablesPartsConfig,
  condition: DataCondition,
): LakeScrub {
  const created = new LakeScrub({
    store,
    objects,
    logger,
    ...(scrub === undefined ? {} : { limits: scrub }),
    onCondition: ({ damaged, unverified, suspected }) => {
      const notes = damaged.map(({ table: name, damage }) => ({ name, damage }));
      condition.found("tables", { damaged: notes, unverified, suspected });
    },
  });
  condition.onCorrupt((message) => created.suspect(message));
  return created;
}

export function createTablesParts(config: TablesPartsConfig): TablesParts {
  const { node, store, catalog, metrics, prng } = config;
  const classes: TablesPartClasses = { ...productionClasses, ...config.parts };
  const pins = catalog;
  const ownPrng = prng.fork("claims");
  const claims = new classes.StoreRefreshClaims(store, { prng: ownPrng, pins, ...config.claims });
  const scheduler = createScheduler(config, classes, claims);
  const upkeep = createUpkeep(config, classes);
  const gauges = metrics && createGauges(config, metrics);
  const follow = (): (() => void) => {
    const unfollow = node.lease?.onChange(() => {
      // Refresh durations are counted from this moment, not from the next look.
      gauges?.poke();
      scheduler.leaseChanged();
      upkeep.leaseChanged();
    });
    const unlisten = node.pool.listen({
      workerDown: (workerId, reason) =>
        expireClaims(config, claims, workerId, `its session was lost: ${reason}`),
    });
    return () => {
      unfollow?.();
      unlisten();
    };
  };
  let stopFollowing: () => void = () => undefined;
  return {
    start() {
      stopFollowing = follow();
      for (const loop of [gauges, scheduler, upkeep]) loop?.start();
    },
    async stop() {
      stopFollowing();
      await Promise.all([gauges?.stop(), scheduler.stop(), upkeep.stop()]);
    },
  };
}

function createScheduler(
  { node, store, catalog, objects, clock, prng, logger }: TablesPartsConfig,
  classes: TablesPartClasses,
  claims: StoreRefreshClaims,
): RefreshScheduler {
  return new classes.RefreshScheduler({
    store,
    claims,
    lake: lakeSourceChanges(catalog, objects),
    pins: catalog,
    lease: () => node.lease?.grant(),
    clock,
    prng: prng.fork("scheduler"),
    logger,
  });
}

function createUpkeep(config: TablesPartsConfig, classes: TablesPartClasses): UpkeepLoop {
  const { node, store, catalog, objects, clock, prng, logger, condition } = config;
  const scrub = condition && createScrub(config, condition);
  return new classes.UpkeepLoop({
    ...config.upkeep,
    ...(scrub === undefined ? {} : { scrub }),
    upkeep: new LakeUpkeep({ store }),
    catalog,
    objects,
    manager: node.manager,
    lease: () => node.lease?.grant(),
    clock,
    prng: prng.fork("upkeep"),
    logger,
  });
}

/** Looks how dynamic tables are doing, one look at a time: each duration is observed once. */
function createGauges({ node, store, clock, logger }: TablesPartsConfig, metrics: Metrics): Loop {
  let backlog: RefreshBacklog | undefined;
  let durations = new RefreshDurations();
  const observe = createRefreshMetrics(metrics, () => backlog);
  return new Loop({
    clock,
    logger,
    everyMs: lookMs,
    trouble: "cannot tell how dynamic tables are doing",
    async turn() {
      if (!node.leading()) {
        backlog = undefined;
        durations = new RefreshDurations(); // Another coordinator counts meanwhile.
        return;
      }
      backlog = await store.read(readBacklog).catch(() => undefined);
      for (const seconds of await store.read((tx) => durations.next(tx))) observe(seconds);
    },
  });
}

function expireClaims(
  { node, logger }: TablesPartsConfig,
  claims: StoreRefreshClaims,
  workerId: string,
  why: string,
): void {
  const lease = node.lease?.grant();
  if (lease === undefined) return; // The leader expires the claims.
  claims.expireWorker(workerId, why, lease).catch((thrown: unknown) => {
    logger.warn({ worker_id: workerId }, `its claims expire by themselves: ${messageOf(thrown)}`);
  });
}

/** The command-line options. Times are in milliseconds. */
export interface RefreshOptions {
  readonly keepSnapshots?: number;
  readonly deleteAfter?: number;
  readonly upkeepEvery?: number;
  readonly scrubEvery?: number;
}

/** For a coordinator or a query-api. Only a coordinator schedules. */
export function createRefreshPart(
  context: CoordinatorContext,
  options: RefreshOptions,
): ControllerPart {
  const { store } = context;
  const tables = createTablesPort(store, context.queries);
  const statements = new DynamicTables(context);
  const part = {
    name: "refresh",
    statements,
    guard: statements,
    routes: tableRoutes(tables, () => store.read(readBacklog)),
    attention: { "dynamic tables": () => readTablesAttention(tables) },
  };
  if (context.role === "query_api") return part;
  const { keepSnapshots, deleteAfter, upkeepEvery, scrubEvery } = options;
  const everyMs = upkeepEvery === undefined ? {} : { everyMs: upkeepEvery };
  const scheduling = createTablesParts({
    ...context,
    prng: context.prng.fork("tables"),
    upkeep: {
      limits: {
        ...(keepSnapshots === undefined ? {} : { snapshotMsMax: keepSnapshots }),
        ...(deleteAfter === undefined ? {} : { graceMs: deleteAfter }),
      },
      ...everyMs,
    },
    scrub: { ...(scrubEvery === undefined ? {} : { periodMs: scrubEvery }), ...everyMs },
  });
  return {
    ...part,
    start: () => scheduling.start(),
    quiesce: [stopStep("stop scheduler", 2_000, () => scheduling.stop())],
  };
}
