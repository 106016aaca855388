/**
 * Notices commits of other processes on the same file: `PRAGMA data_version` changes when another
 * connection commits. A look takes a few microseconds. The revision tells whether a watched table
 * changed, since lease renewals are commits too.
 */
import { type Clock, repeat, type Timer } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { RepeatedWarning } from "../../kernel/repeated-warning.ts";
import type { PokeList } from "../catalog/poke-list.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

export class DataVersionPoller {
  readonly #clock: Clock;
  readonly #warning: RepeatedWarning;
  readonly #connection: SqliteConnection;
  readonly #pokes: PokeList;
  readonly #pollMs: number;
  #timer: Timer | undefined;
  #seen: { readonly dataVersion: unknown; readonly revision: unknown } | undefined;

  constructor(parts: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly connection: SqliteConnection;
    readonly pokes: PokeList;
    readonly pollMs: number;
  }) {
    this.#clock = parts.clock;
    this.#warning = new RepeatedWarning(parts);
    this.#connection = parts.connection;
    this.#pokes = parts.pokes;
    this.#pollMs = parts.pollMs;
  }

  start(): void {
    this.#timer = repeat(this.#clock, this.#pollMs, () => this.#poll());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #poll(): void {
    // Inside a transaction the connection sees only its own snapshot. The next look is soon enough.
    if (this.#pokes.size === 0 || this.#connection.inTransaction) return;
    try {
      const dataVersion = this.#connection.rows("PRAGMA data_version")[0]?.data_version;
      this.#warning.over();
      if (this.#seen?.dataVersion === dataVersion) return;
      const rows = this.#connection.rows("SELECT revision FROM catalog_revision");
      const revision = rows[0]?.revision;
      const changed = this.#seen?.revision !== revision;
      this.#seen = { dataVersion, revision };
      if (changed) this.#pokes.poke();
    } catch (error) {
      const text = messageOf(error);
      this.#warning.warn(text, { error: text }, "cannot look for changes of other processes");
    }
  }
}
