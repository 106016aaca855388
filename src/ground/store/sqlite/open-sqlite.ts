/** Opens a store on a SQLite file, and sets the file up. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { Gate } from "../catalog/gate.ts";
import { PokeList } from "../catalog/poke-list.ts";
import { RetryBound } from "../catalog/retry-bound.ts";
import type { WatchedTables } from "../core/schema.ts";
import type { Store } from "../core/store.ts";
import { decideSchemaRefusal, type Migration, newestVersion } from "../setup/migrations.ts";
import { DataVersionPoller } from "./data-version-poller.ts";
import { KeptFile } from "./kept-file.ts";
import { applyNextSqliteMigration, sqliteSchemaVersion } from "./setup-sqlite.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SqliteBusy } from "./sqlite-errors.ts";
import { SqliteStore } from "./sqlite-store.ts";

export interface SqliteParts {
  readonly path: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly changesKept: number;
  readonly watched: WatchedTables;
  /** How long a transaction waits for other processes before it fails with `store_busy`. */
  readonly waitMsMax: number;
}

const pollMs = 100;
const waitersMax = 1_000;

export async function openSqlite(
  parts: SqliteParts,
  migrations: readonly Migration[],
): Promise<Store> {
  const { path, clock, logger, changesKept, watched } = parts;
  const needed = newestVersion(migrations);
  // Opening would create the file, which only setup may do.
  const absent = existsSync(path) ? undefined : decideSchemaRefusal(0, needed, path);
  if (absent !== undefined) throw absent;
  const connection = await connect(parts);
  try {
    const found = await whileBusy(parts, () => sqliteSchemaVersion(connection));
    const refusal = decideSchemaRefusal(found, needed, path);
    if (refusal !== undefined) throw refusal;
    await whileBusy(parts, () => connection.useWal());
  } catch (error) {
    connection.close();
    throw error;
  }
  const file = new KeptFile(path);
  const limits = { slots: 1, waitersMax, waitMsMax: 2 * parts.waitMsMax };
  const gate = new Gate(limits, clock);
  const pokes = new PokeList();
  const poller = new DataVersionPoller({ clock, logger, connection, pokes, pollMs });
  poller.start();
  return new SqliteStore({
    connection,
    gate,
    pokes,
    onCommitted: () => pokes.poke(),
    changesKept,
    watched,
    checkFile: () => file.check(),
    waitBusy: () => {
      const bound = retryBound(parts);
      return () => bound.pause();
    },
    close: async () => {
      poller.stop();
      await gate.close();
      connection.close();
      pokes.poke(); // Waiters then find the store closed.
    },
  });
}

export async function setupSqlite(
  parts: SqliteParts,
  migrations: readonly Migration[],
): Promise<{ readonly from: number; readonly to: number }> {
  makeDirectory(dirname(parts.path));
  const connection = await connect(parts);
  try {
    await whileBusy(parts, () => connection.useWal());
    const applied: Migration[] = [];
    for (;;) {
      const next = await whileBusy(parts, () => applyNextSqliteMigration(connection, migrations));
      if (next === undefined) break;
      parts.logger.info({ migration: next.name }, "the store's schema was migrated");
      applied.push(next);
    }
    const to = newestVersion(migrations);
    return { from: (applied[0]?.version ?? to + 1) - 1, to };
  } finally {
    connection.close();
  }
}

async function connect(parts: SqliteParts): Promise<SqliteConnection> {
  const connection = new SqliteConnection(parts.path, () => parts.clock.wallMs());
  try {
    await whileBusy(parts, () => connection.configure());
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function whileBusy<T>(parts: SqliteParts, attempt: () => T): Promise<T> {
  const bound = retryBound(parts);
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!(error instanceof SqliteBusy) || !(await bound.pause())) throw error;
    }
  }
}

function retryBound({ clock, prng, waitMsMax }: SqliteParts): RetryBound {
  return new RetryBound(clock, prng, { minMs: 2, maxMs: 50, retryMsMax: waitMsMax });
}

/** Not `recursive`, which never returns where a parent refuses children (/proc). */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (existsSync(path)) return; // Another setup was faster.
    throw new OperatingError(
      "store_unavailable",
      "never",
      `cannot create the directory ${path}: ${messageOf(error)}`,
      { cause: error, hint: "choose a directory that you may write to" },
    );
  }
}
