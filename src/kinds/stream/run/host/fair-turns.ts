/**
 * Who goes on next on a thread. Whoever is busy all the time gives way when its turn is over, and
 * goes on in the order of queries: a query with many busy fragments has as many turns as one with a
 * single one. Between two turns the event loop has its own, for signals and messages (SU14).
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { giveWay } from "../../../../ground/kernel/node/give-way.ts";

/** How long anybody may be busy before others have their turn. */
const turnMsMax = 10;

export class FairTurns {
  readonly #pause: () => Promise<void>;
  /** Who waits, by query; the first query is the next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isDealing = false;

  constructor(pause: () => Promise<void> = giveWay) {
    this.#pause = pause;
  }

  /** Resolves when it is this query's turn again. */
  wait(query: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#waiting.get(query);
    if (others === undefined) this.#waiting.set(query, [resolve]);
    else others.push(resolve);
    if (!this.#isDealing) void this.#deal();
    return promise;
  }

  async #deal(): Promise<void> {
    this.#isDealing = true;
    for (;;) {
      await this.#pause();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [query, [goOn, ...others]] = next;
      this.#waiting.delete(query);
      if (others.length > 0) this.#waiting.set(query, others);
      goOn?.();
    }
    this.#isDealing = false;
  }
}

/** The turn of one pump. */
export class Turn {
  readonly #turns: FairTurns;
  readonly #query: string;
  readonly #clock: Clock;
  #startMs: number;

  constructor(turns: FairTurns, query: string, clock: Clock) {
    this.#turns = turns;
    this.#query = query;
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  /** Resolves at once while the turn lasts. */
  async giveWay(): Promise<void> {
    if (this.#clock.nowMs() - this.#startMs < turnMsMax) return;
    await this.#turns.wait(this.#query);
    this.#startMs = this.#clock.nowMs();
  }
}
