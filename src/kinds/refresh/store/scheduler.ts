/**
 * The coordinator's side: looks when it is poked and when time has come, and writes down what `decideRefreshes` says.
 *
 *   TL1  It looks first and writes only when there is something to write, in a transaction that reads the state again and decides anew:
 *        what changed in between is seen. The lake's snapshot is read after the moment it is taken to be of.
 *   TL2  Every write is under the coordinator's lease. Without it nothing is looked at.
 *   TL3  Looks are at least `spacingMs` apart: a thousand commits are one look. A poke while it looks makes it look again.
 *        With many tables a look is dear: it rests three times as long as it took, `restMsMax` at most.
 *   TL4  A look that fails is tried again after a pause that grows; it never ends the loop.
 *   TL5  Expired claims are freed as soon as they have expired, whether or not anybody asks for work.
 */
import { sql } from "kysely";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import type { Clock, Timer } from "../../../ground/kernel/clock.ts";
import { AssertionError, assert, messageOf } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
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
  /** The lease as it stands now; `undefined`: this process is not the coordinator. */
  readonly lease: () => LeaseGrant | undefined;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly options?: ScheduleOptions;
  readonly historyRows?: number;
  /** Keeps what the next refreshes read. */
  readonly pins?: SnapshotPins;
  readonly spacingMs?: number;
  /** It looks at least so often. */
  readonly lookMsMax?: number;
}

const restShare = 3;
const restMsMax = 250;
const retry = { minMs: 100, maxMs: 5_000 };

export class RefreshScheduler {
  readonly #options: RefreshSchedulerOptions;
  readonly #spacingMs: number;
  readonly #lookMsMax: number;
  #state: "new" | "started" | "stopped" = "new";
  #unsubscribe: (() => void) | undefined;
  #timer: Timer | undefined;
  #timerAtMs = 0;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #failures = 0;
  #notBeforeMs = 0;

  constructor(options: RefreshSchedulerOptions) {
    this.#options = options;
    this.#spacingMs = options.spacingMs ?? 10;
    this.#lookMsMax = options.lookMsMax ?? 5_000;
  }

  start(): void {
    assert(this.#state === "new", "a scheduler is started once");
    this.#state = "started";
    this.#unsubscribe = this.#options.store.onPoke(() => this.#soon(0));
    this.#soon(0);
  }

  /** To be called from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#soon(0);
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#unsubscribe?.();
    this.#timer?.cancel();
    await this.#looking;
  }

  /** TL3. The earlier of two wishes counts. */
  #soon(delayMs: number): void {
    if (this.#state !== "started") return;
    if (this.#looking !== undefined) {
      if (delayMs === 0) this.#lookAgain = true;
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    const atMs = Math.max(nowMs + delayMs, this.#notBeforeMs);
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#options.clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#looking = this.#look();
    });
  }

  async #look(): Promise<void> {
    const { clock, logger, prng } = this.#options;
    let againMs: number;
    this.#lookAgain = false;
    const startedMs = clock.nowMs();
    try {
      againMs = await this.#lookOnce();
      this.#failures = 0;
      const restMs = Math.min(restMsMax, (clock.nowMs() - startedMs) * restShare); // TL3
      this.#notBeforeMs = clock.nowMs() + Math.max(this.#spacingMs, restMs);
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      this.#failures += 1;
      againMs = backoffMs(retry, this.#failures, prng.next()); // TL4
      this.#notBeforeMs = clock.nowMs() + againMs;
      logger.warn({ error: messageOf(thrown), retry_in_ms: againMs }, "cannot schedule refreshes");
    }
    this.#looking = undefined;
    this.#soon(this.#lookAgain ? 0 : againMs);
  }

  /** When to look again. */
  async #lookOnce(): Promise<number> {
    const { store, claims, lake, logger, options = defaultScheduleOptions } = this.#options;
    const lease = this.#options.lease();
    if (lease === undefined) return this.#lookMsMax; // TL2
    const expired = await claims.reapExpired(lease); // TL5
    if (expired > 0) logger.warn({ claim_count: expired }, "freed claims that had expired");
    const before = await store.read(async (tx) => ({
      nowMs: await readNow(tx),
      tables: await readScheduledTables(tx),
      expiresAtMs: await readFirstExpiry(tx),
    }));
    if (before.tables.length === 0) return this.#lookMsMax;
    const { nowMs } = before;
    const { snapshot } = await lake.current(); // TL1
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
      this.#lookAgain = true; // What was advanced without a worker may be due again.
      this.#logLateness(decision, before.tables);
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
