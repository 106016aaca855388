/** A coordinator and workers in virtual time, on one database in memory. */

import type { TableId } from "../../../../data/lake/core/index.ts";
import type { LeaseEpoch } from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  createSharedSqlite,
  type LeaseGrant,
  openSimStore,
} from "../../../../ground/store/index.ts";
import {
  type ClaimedRefresh,
  type RefreshClaims,
  type Refresher,
  RefreshLoop,
  type RefreshLoopOptions,
  type RefreshSplit,
  type SubtaskClaims,
  type SubtaskRunner,
} from "../../core/index.ts";
import { watchedRefreshTables } from "../../core/tables.ts";
import type { ClaimSettings } from "../claim-settings.ts";
import { RefreshScheduler, type RefreshSchedulerOptions } from "../scheduler.ts";
import { StoreRefreshClaims } from "../store-refresh-claims.ts";
import { StoreSubtaskClaims } from "../store-subtask-claims.ts";
import { TablesFixture } from "./tables-fixture.ts";

export interface WorkerOptions {
  /** How long a refresh takes. It ends early when it is aborted. */
  readonly refreshMs?: (claim: ClaimedRefresh) => number;
  readonly refresher?: Refresher;
  /** Wraps the claims between the worker and the store. */
  readonly through?: (claims: RefreshClaims) => RefreshClaims;
  /** Computes parts of split refreshes. */
  readonly runner?: SubtaskRunner;
  readonly partsThrough?: (claims: SubtaskClaims) => SubtaskClaims;
  readonly loop?: Partial<RefreshLoopOptions>;
  readonly settings?: Partial<ClaimSettings>;
}

const ability = "test";

export class RefreshWorld extends TablesFixture {
  readonly clock: VirtualClock;
  /** Tables whose refreshes were computed, with whatever outcome. */
  readonly computed: TableId[] = [];
  readonly #database: ReturnType<typeof createSharedSqlite>;
  readonly #seed: string;
  #lease: LeaseGrant | undefined;

  constructor(seed = "world", settings: Partial<ClaimSettings> = {}) {
    const clock = new VirtualClock();
    const database = createSharedSqlite(() => clock.wallMs());
    super(openSimStore({ database, watched: watchedRefreshTables }), settings);
    this.clock = clock;
    this.#database = database;
    this.#seed = seed;
  }

  /** Takes the coordinator's lease. */
  async lead(): Promise<LeaseGrant> {
    const epoch = ((this.#lease?.epoch ?? 0) + 1) as LeaseEpoch;
    const row = { name: "coordinator", holder: "c", epoch, expires_at_ms: 0, api_url: "" };
    await this.store.transaction(async ({ db }) => {
      await db.deleteFrom("coordinator_leases").execute();
      await db.insertInto("coordinator_leases").values(row).execute();
    });
    this.#lease = { name: row.name, holder: row.holder, epoch };
    return this.#lease;
  }

  /** Pokes all stores, as a commit does. */
  poke(): void {
    this.#database.pokes.poke();
  }

  async startScheduler(options: Partial<RefreshSchedulerOptions> = {}): Promise<RefreshScheduler> {
    const lease = await this.lead();
    const store = openSimStore({ database: this.#database, watched: watchedRefreshTables });
    const prng = createPrng(`${this.#seed}/scheduler`);
    const scheduler = new RefreshScheduler({
      store,
      claims: new StoreRefreshClaims(store, { prng }),
      lake: this.lake,
      lease: () => lease,
      clock: this.clock,
      prng,
      logger: silentLogger,
      ...options,
    });
    scheduler.start();
    return scheduler;
  }

  startWorker(workerId: string, options: WorkerOptions = {}): RefreshLoop {
    const store = openSimStore({ database: this.#database, watched: watchedRefreshTables });
    const prng = createPrng(`${this.#seed}/${workerId}`);
    const claims = new StoreRefreshClaims(store, { prng, ...options.settings });
    const parts = new StoreSubtaskClaims(store, { prng, ...options.settings });
    const { runner, partsThrough } = options;
    const loop = new RefreshLoop({
      workerId,
      claims: options.through?.(claims) ?? claims,
      refresher: options.refresher ?? this.refresher(options.refreshMs ?? (() => 100)),
      ...(runner === undefined
        ? {}
        : { parts: { claims: partsThrough?.(parts) ?? parts, runner } }),
      onPoke: (listener) => store.onPoke(listener),
      clock: this.clock,
      prng,
      logger: silentLogger,
      ...options.loop,
    });
    loop.start();
    return loop;
  }

  refresher(refreshMs: (claim: ClaimedRefresh) => number): Refresher {
    return {
      refresh: async (claim, _table, signal) => {
        this.computed.push(claim.tableId);
        await this.take(refreshMs(claim), signal);
        return this.lake.refreshed(claim);
      },
    };
  }

  /** A refresh in parts, whose results are what the runner makes of their numbers. */
  split(claim: ClaimedRefresh, parts: number): RefreshSplit {
    return {
      action: "SPLIT",
      ability,
      specs: Array.from({ length: parts }, (_, part) => `${part}`),
      merge: async (results) => {
        const workers = new Set(results.map(({ workerId }) => workerId));
        const counts = { partCount: results.length, workerCount: workers.size };
        return { ...this.lake.refreshed(claim), parts: counts };
      },
      discard: async (results) => {
        this.discarded += results.length;
      },
    };
  }

  /** The number of discarded parts. */
  discarded = 0;

  runner(partMs: () => number): SubtaskRunner {
    return {
      ability,
      run: async ({ spec }, signal) => {
        await this.take(partMs(), signal);
        return spec;
      },
    };
  }

  /** Waits for `ms`, or until it is aborted. */
  async take(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = this.clock.after(ms, resolve);
      signal.addEventListener("abort", () => {
        timer.cancel();
        reject(signal.reason);
      });
    });
  }
}
