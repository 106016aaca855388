/**
 * LISTEN on a connection of its own. It pokes after every attempt to connect, successful or not:
 * notifications sent meanwhile are lost, and a database that cannot LISTEN is polled this way. A
 * query from time to time detects a connection that went silent.
 */

import pg from "pg";
import { backoffMs } from "../../kernel/backoff.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import type { PokeList } from "../catalog/poke-list.ts";
import { catalogChannel } from "./postgres-store.ts";

const pause = { minMs: 50, maxMs: 2_000 };
const askMs = 10_000;

export class CatalogListener {
  readonly #config: pg.ClientConfig;
  readonly #clock: Clock;
  readonly #prng: Prng;
  readonly #logger: Logger;
  readonly #pokes: PokeList;
  readonly #stop = new AbortController();
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(parts: {
    readonly config: pg.ClientConfig;
    readonly clock: Clock;
    readonly prng: Prng;
    readonly logger: Logger;
    readonly pokes: PokeList;
  }) {
    this.#config = parts.config;
    this.#clock = parts.clock;
    this.#prng = parts.prng;
    this.#logger = parts.logger;
    this.#pokes = parts.pokes;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        this.#logger.warn({ error: messageOf(error) }, "not listening to the store; trying again");
      }
      this.#pokes.poke();
      this.#failures += 1;
      await sleep(this.#clock, backoffMs(pause, this.#failures, this.#prng.next()), signal);
    }
  }

  /** Listens until the connection is lost or `stop()` is called. */
  async #listen(): Promise<void> {
    const client = new pg.Client(this.#config);
    const over = new AbortController();
    const end = (): void => over.abort();
    client.on("error", end);
    client.on("end", end);
    client.on("notification", () => this.#pokes.poke());
    this.#stop.signal.addEventListener("abort", end, { once: true });
    try {
      await unless(over.signal, () => client.connect());
      await unless(over.signal, () => client.query(`LISTEN ${catalogChannel}`));
      this.#failures = 0;
      this.#pokes.poke();
      while (!over.signal.aborted) {
        await sleep(this.#clock, askMs, over.signal);
        await unless(over.signal, () => client.query("SELECT 1"));
      }
    } finally {
      this.#stop.signal.removeEventListener("abort", end);
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
  const waited = new AbortController();
  const ended = client.end().then(
    () => waited.abort(),
    () => waited.abort(), // The connection was already gone.
  );
  await Promise.race([ended, sleep(clock, endMsMax, waited.signal)]);
}
