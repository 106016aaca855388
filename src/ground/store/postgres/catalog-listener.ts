/**
 * LISTEN on a connection of its own. It pokes after every attempt to connect, successful or not:
 * notifications sent meanwhile are lost, and a database that cannot LISTEN is polled this way. A
 * query from time to time detects a connection that went silent.
 */

import pg from "pg";
import { type Clock, sleep, waitAtMost } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { Loop } from "../../reconcile/index.ts";
import type { PokeList } from "../catalog/poke-list.ts";
import { catalogChannel } from "./postgres-store.ts";

const pause = { minMs: 50, maxMs: 2_000 };
const askMs = 10_000;

export class CatalogListener {
  readonly #config: pg.ClientConfig;
  readonly #clock: Clock;
  readonly #pokes: PokeList;
  readonly #attempts: Loop;

  constructor(parts: {
    readonly config: pg.ClientConfig;
    readonly clock: Clock;
    readonly prng: Prng;
    readonly logger: Logger;
    readonly pokes: PokeList;
  }) {
    this.#config = parts.config;
    this.#clock = parts.clock;
    this.#pokes = parts.pokes;
    const { clock, prng, logger } = parts;
    this.#attempts = new Loop({
      clock,
      prng,
      logger,
      turn: (signal) => this.#listen(signal).finally(() => this.#pokes.poke()),
      everyMs: pause.minMs,
      backoff: pause,
      trouble: "not listening to the store; trying again",
    });
  }

  start(): void {
    this.#attempts.start();
  }

  stop(): Promise<void> {
    return this.#attempts.stop();
  }

  /** Listens until the connection is lost or the signal aborts. Throws what kept it from it. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new pg.Client(this.#config);
    const over = new AbortController();
    const end = (): void => over.abort();
    client.on("error", end);
    client.on("end", end);
    client.on("notification", () => this.#pokes.poke());
    signal.addEventListener("abort", end, { once: true });
    try {
      await unless(over.signal, () => client.connect());
      await unless(over.signal, () => client.query(`LISTEN ${catalogChannel}`));
      this.#pokes.poke();
      while (!over.signal.aborted) {
        await sleep(this.#clock, askMs, over.signal);
        await unless(over.signal, () => client.query("SELECT 1"));
      }
    } finally {
      signal.removeEventListener("abort", end);
      await endClient(client, this.#clock);
    }
  }
}

/** Waits for `act`, but no longer than until `signal` aborts. */
async function unless(signal: AbortSignal, act: () => Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const acting = act();
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => resolve();
    signal.addEventListener("abort", leave, { once: true });
    acting.then(leave, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

const endMsMax = 1_000;

/** Ends a connection, waiting at most one second for a server that does not answer. */
export async function endClient(client: { end(): Promise<void> }, clock: Clock): Promise<void> {
  const ended = client.end().catch(() => undefined); // The connection was already gone.
  await waitAtMost(clock, endMsMax, ended);
}
