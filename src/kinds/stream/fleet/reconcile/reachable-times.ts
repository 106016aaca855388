/**
 * For how long each deployment has been under way while all its workers could be reached (SD13).
 * It is kept in the store from time to time, so that a new leader goes on counting.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { Store } from "../../../../ground/store/index.ts";

interface Counted {
  readonly epoch: number;
  readonly reachableMs: number;
  /** When it was last counted, and last kept. */
  readonly atMs: number;
  readonly keptAtMs: number;
}

const keepMs = 30_000;
/** A longer pause between two looks is not known to be reachable time. */
const gapMsMax = 10_000;

export class ReachableTimes {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Adds the time since the last call. Returns the sum of this epoch. */
  async count(queryId: string, epoch: number, isReachable: boolean): Promise<number> {
    const atMs = this.#clock.nowMs();
    const before = await this.#before(queryId, epoch, atMs);
    const addedMs = isReachable ? Math.min(atMs - before.atMs, gapMsMax) : 0;
    const reachableMs = Math.round(before.reachableMs + addedMs);
    const isDue = atMs - before.keptAtMs >= keepMs;
    const keptAtMs = isDue ? atMs : before.keptAtMs;
    this.#counted.set(queryId, { epoch, reachableMs, atMs, keptAtMs });
    if (isDue) await this.#keep(queryId, epoch, reachableMs);
    return reachableMs;
  }

  forget(queryId: string): void {
    this.#counted.delete(queryId);
  }

  async #before(queryId: string, epoch: number, atMs: number): Promise<Counted> {
    const known = this.#counted.get(queryId);
    if (known?.epoch === epoch) return known;
    const row = await this.#store.read(({ db }) =>
      db
        .selectFrom("query_deployments")
        .select("reachable_ms")
        .where("query_id", "=", queryId)
        .where("epoch", "=", epoch)
        .executeTakeFirst(),
    );
    return { epoch, reachableMs: row?.reachable_ms ?? 0, atMs, keptAtMs: atMs };
  }

  async #keep(query_id: string, epoch: number, reachable_ms: number): Promise<void> {
    await this.#store.transaction(({ db }) =>
      db
        .insertInto("query_deployments")
        .values({ query_id, epoch, reachable_ms })
        .onConflict((conflict) => conflict.column("query_id").doUpdateSet({ epoch, reachable_ms }))
        .execute(),
    );
  }
}
