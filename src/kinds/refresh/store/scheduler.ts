/**
 * The coordinator's loop: looks when it is poked and when time has come, and writes what
 * `decideRefreshes` decides. It writes only if there is something to write, in a transaction that
 * reads the state again and decides anew. The lake's snapshot is read after the moment that it
 * stands for. Looks are at least `spacingMs` apart, and a poke during a look causes another. Rules:
 * TS11, TS14, TS15, TS17, TC13.
 */
import { sql } from "kysely";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { Loop } from "../../../ground/reconcile/index.ts";
import type { LeaseGrant, Store, Tx } from "../../../ground/store/index.ts";
import {
  decideRefreshes,
  defaultScheduleOptions,
  type ScheduleDecision,
  type ScheduledTable,
  type ScheduleOptions,
} from "../core/index.ts";
import type { SnapshotPins } from "./needed-snapshots.ts";
import { historyRowsDefault } from "./refresh-history.ts";
import { applyDecision, isEmptyDecision, readScheduledTables } from "./schedule-state.ts";
import { askForChanges, type SourceChanges } from "./source-changes.ts";
import type { StoreRefreshClaims } from "./store-refresh-claims.ts";

export interface RefreshSchedulerOptions {
  readonly store: Store;
  readonly claims: Pick<StoreRefreshClaims, "reapExpired">;
  readonly lake: SourceChanges;
  /** The current lease. Undefined when this process does not lead. */
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly options?: ScheduleOptions;
  readonly historyRows?: number;
  /** Pins what the next refreshes read. */
  readonly pins?: SnapshotPins;
  readonly spacingMs?: number;
  /** The maximum time between looks. */
  readonly lookMsMax?: number;
}

const restShare = 3;
const restMsMax = 250;

export class RefreshScheduler {
  readonly #options: RefreshSchedulerOptions;
  readonly #spacingMs: number;
  readonly #lookMsMax: number;
  readonly #loop: Loop;
  #unsubscribe: (() => void) | undefined;

  constructor(options: RefreshSchedulerOptions) {
    this.#options = options;
    this.#spacingMs = options.spacingMs ?? 10;
    this.#lookMsMax = options.lookMsMax ?? 5_000;
    const { clock, prng, logger, lease } = options;
    this.#loop = new Loop({
      clock,
      prng,
      logger,
      lease, // TS14
      turn: () => this.#look(),
      everyMs: this.#lookMsMax,
      backoff: { minMs: 100, maxMs: 5_000 }, // TS15
      trouble: "cannot schedule refreshes",
    });
  }

  start(): void {
    this.#unsubscribe = this.#options.store.onPoke(() => this.#loop.poke());
    this.#loop.start();
  }

  /** Called from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#loop.leaseChanged();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#loop.stop();
  }

  /** Rests after each look (TS17). */
  async #look(): Promise<{ readonly requeueAfterMs: number; readonly restMs: number }> {
    const { clock } = this.#options;
    const startedMs = clock.nowMs();
    const requeueAfterMs = await this.#lookOnce();
    const restMs = Math.min(restMsMax, (clock.nowMs() - startedMs) * restShare);
    return { requeueAfterMs, restMs: Math.max(this.#spacingMs, restMs) };
  }

  /** The time until the next look, in milliseconds. */
  async #lookOnce(): Promise<number> {
    const { store, claims, lake, logger, options = defaultScheduleOptions } = this.#options;
    const lease = this.#options.lease();
    if (lease === undefined) return this.#lookMsMax; // The lease was just lost.
    const expired = await claims.reapExpired(lease); // TC13
    if (expired > 0) logger.warn({ claim_count: expired }, "freed claims that had expired");
    const before = await store.read(async (tx) => ({
      nowMs: await readNow(tx),
      tables: await readScheduledTables(tx),
      expiresAtMs: await readFirstExpiry(tx),
    }));
    if (before.tables.length === 0) return this.#lookMsMax;
    const { nowMs } = before;
    const { snapshot } = await lake.current(); // Read after `before.nowMs` (TS11).
    const changes = await askForChanges(lake, before.tables, snapshot);
    const decide = (tables: readonly ScheduledTable[]): ScheduleDecision =>
      decideRefreshes({ tables, snapshot, ...changes }, nowMs, options);
    let decision = decide(before.tables);
    if (!isEmptyDecision(decision)) {
      const { historyRows = historyRowsDefault, pins } = this.#options;
      decision = await store.catalogTransaction(async (tx) => {
        const now = decide(await readScheduledTables(tx));
        await applyDecision(tx, now, { snapshot, timeMs: nowMs, historyRows, pins });
        return now;
      }, lease);
      this.#logLateness(decision, before.tables);
      return 0; // A table advanced without a worker may be due again.
    }
    const wakeAtMs = Math.min(decision.wakeAtMs ?? Infinity, before.expiresAtMs ?? Infinity);
    return Math.min(this.#lookMsMax, Math.max(0, wakeAtMs - nowMs));
  }

  #logLateness({ lateness }: ScheduleDecision, tables: readonly ScheduledTable[]): void {
    const { logger } = this.#options;
    for (const { tableId, lateSinceMs } of lateness) {
      const table = tables.find((each) => each.tableId === tableId);
      const fields = { dynamic_table: table?.label, target_lag_ms: targetMsOf(table) };
      if (lateSinceMs !== undefined) {
        logger.warn(fields, "a dynamic table misses its target lag");
      } else if (table?.status === "ACTIVE") {
        logger.info(fields, "a dynamic table meets its target lag again");
      }
    }
  }
}

function targetMsOf(table: ScheduledTable | undefined): number | undefined {
  return table?.targetLag.kind === "time" ? table.targetLag.ms : undefined;
}

async function readNow({ db }: Tx): Promise<number> {
  const found = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
  const now = found.rows[0]?.now;
  assert(now !== undefined, "now_ms() gives one row");
  return now;
}

async function readFirstExpiry({ db }: Tx): Promise<number | undefined> {
  const found = await sql<{ first: number | null }>`
    SELECT min(expires_at_ms) AS first
      FROM (SELECT expires_at_ms FROM refresh_claims
            UNION ALL
            SELECT expires_at_ms FROM refresh_subtasks) held`.execute(db);
  return found.rows[0]?.first ?? undefined;
}
