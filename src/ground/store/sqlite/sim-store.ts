/**
 * The SQLite store for simulation: a database in memory that several stores share, one per
 * simulated process. It is the production store, but never waits for time, so every transaction
 * ends within microtasks.
 */
import { AssertionError } from "../../kernel/errors.ts";
import { Gate } from "../catalog/gate.ts";
import { changesKeptDefault } from "../catalog/logged-tx.ts";
import { PokeList } from "../catalog/poke-list.ts";
import { ownWatchedTables, type WatchedTables } from "../core/schema.ts";
import type { Store } from "../core/store.ts";
import { type Migration, readMigrations } from "../setup/migrations.ts";
import { applyNextSqliteMigration } from "./setup-sqlite.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SqliteStore } from "./sqlite-store.ts";

export interface SharedSqlite {
  readonly connection: SqliteConnection;
  readonly gate: Gate;
  /** Pokes every store that is open on it. */
  readonly pokes: PokeList;
}

const simulatedWaitersMax = 100_000;
let packagedMigrations: readonly Migration[] | undefined; // Read once, for thousands of databases.

/** A new database with the newest schema. `nowMs` is the clock behind `now_ms()`. */
export function createSharedSqlite(nowMs: () => number): SharedSqlite {
  packagedMigrations ??= readMigrations();
  const connection = new SqliteConnection(":memory:", nowMs);
  connection.configure();
  while (applyNextSqliteMigration(connection, packagedMigrations) !== undefined);
  const limits = { slots: 1, waitersMax: simulatedWaitersMax, waitMsMax: 0 };
  return { connection, gate: new Gate(limits, undefined), pokes: new PokeList() };
}

/** One simulated process's store. Closing it does not close the database. */
export function openSimStore(options: {
  readonly database: SharedSqlite;
  readonly changesKept?: number;
  readonly watched?: WatchedTables;
}): Store {
  const { connection, gate, pokes } = options.database;
  const ownPokes = new PokeList();
  const unsubscribe = pokes.add(() => ownPokes.poke());
  return new SqliteStore({
    connection,
    gate,
    pokes: ownPokes,
    onCommitted: () => pokes.poke(),
    changesKept: options.changesKept ?? changesKeptDefault,
    watched: { ...ownWatchedTables, ...options.watched },
    waitBusy: () => {
      throw new AssertionError("a database in memory is never busy");
    },
    close: async () => {
      unsubscribe();
      ownPokes.poke(); // Waiters then find the store closed.
    },
  });
}
