/** Parses the control store's location, opens the store, and sets it up. */
import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { createPrng, type Prng } from "../../kernel/prng.ts";
import { changesKeptDefault } from "../catalog/logged-tx.ts";
import { ownWatchedTables, type WatchedTables } from "../core/schema.ts";
import type { Store } from "../core/store.ts";
import { openPostgres, type PostgresParts, setupPostgres } from "../postgres/open-postgres.ts";
import { openSqlite, type SqliteParts, setupSqlite } from "../sqlite/open-sqlite.ts";
import { readMigrations } from "./migrations.ts";

export type StoreLocation =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

interface StoreOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many changes the log keeps for subscribers that resume. */
  readonly changesKept?: number;
  /** Tables of other rooms whose changes are logged. */
  readonly watched?: WatchedTables;
  /** How long a transaction waits for others, or for a lost database, before it fails. */
  readonly waitMsMax?: number;
  /** Migrations other than the package's, for tests. */
  readonly schemaDir?: string | undefined;
}

export type SqliteStoreConfig = StoreOptions & {
  readonly kind: "sqlite";
  readonly path: string;
  /** Spreads retries. SQLite does not need it: its lock is fair enough on one machine. */
  readonly prng?: Prng;
};

export type PostgresStoreConfig = StoreOptions & {
  readonly kind: "postgres";
  readonly url: string;
  readonly prng: Prng;
  readonly connectionsMax?: number;
};

export type StoreConfig = SqliteStoreConfig | PostgresStoreConfig;

/** `sqlite:PATH`, a bare path, or `postgres://…`. */
export function parseStoreUrl(text: string): StoreLocation {
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: "postgres", url: checkPostgresUrl(text) };
  const path = text.startsWith("sqlite:") ? text.slice("sqlite:".length) : text;
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(path)?.[1];
  if (path === "") throw badStore("a store's address is empty", storeHint);
  if (scheme !== undefined) throw badStore(`there is no store of kind "${scheme}:"`, storeHint);
  return { kind: "sqlite", path };
}

const storeHint = "a store is sqlite:PATH, a path, or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

function checkPostgresUrl(text: string): string {
  // The driver accepts a URL without a host, for a socket directory in `?host=`, and spaces.
  const whole = text.replace("@/", "@host/").replaceAll(" ", "%20");
  if (URL.canParse(whole) && decodes(whole)) return text;
  throw badStore(
    "the store's postgres:// address cannot be read",
    `special characters in a name or password are written as %XX; ${storeHint}`,
  );
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The address is never shown, because it may contain a password. */
function badStore(message: string, hint: string): OperatingError {
  return new OperatingError("bad_request", "never", message, { hint });
}

/** Throws `schema_absent`, `schema_older` or `schema_newer` unless the schema fits. */
export function openStore(config: StoreConfig): Promise<Store> {
  const migrations = readMigrations(config.schemaDir);
  return config.kind === "sqlite"
    ? openSqlite(sqliteParts(config), migrations)
    : openPostgres(postgresParts(config), migrations);
}

/** Migrates forward to this software's schema. Rerunnable, also by several processes at once. */
export function setupStore(
  config: StoreConfig,
): Promise<{ readonly from: number; readonly to: number }> {
  const migrations = readMigrations(config.schemaDir);
  return config.kind === "sqlite"
    ? setupSqlite(sqliteParts(config), migrations)
    : setupPostgres(postgresParts(config), migrations);
}

/** The version of an open store's schema, for people. */
export function readSchemaVersion(store: Store): Promise<number> {
  return store.read(async ({ db }) => {
    const newest = db
      .selectFrom("schema_version")
      .select((eb) => eb.fn.max("version").as("version"));
    return (await newest.executeTakeFirstOrThrow()).version;
  });
}

const waitMsMaxDefault = 5_000;
const connectionsMaxDefault = 8;

function sqliteParts(config: SqliteStoreConfig): SqliteParts {
  return {
    path: config.path,
    clock: config.clock,
    prng: config.prng ?? createPrng(config.path),
    logger: config.logger,
    changesKept: config.changesKept ?? changesKeptDefault,
    watched: { ...ownWatchedTables, ...config.watched },
    waitMsMax: config.waitMsMax ?? waitMsMaxDefault,
  };
}

function postgresParts(config: PostgresStoreConfig): PostgresParts {
  return {
    url: config.url,
    clock: config.clock,
    prng: config.prng,
    logger: config.logger,
    changesKept: config.changesKept ?? changesKeptDefault,
    watched: { ...ownWatchedTables, ...config.watched },
    waitMsMax: config.waitMsMax ?? waitMsMaxDefault,
    connectionsMax: config.connectionsMax ?? connectionsMaxDefault,
  };
}
