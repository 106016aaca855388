/**
 * Every row of a SQLite store, and what was written between two moments that is none of the
 * cluster's own business.
 */
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { ownWatchedTables } from "../../src/ground/store/core/schema.ts";
import { watchedRefreshTables } from "../../src/kinds/refresh/core/tables.ts";

type Row = Readonly<Record<string, SQLOutputValue>>;
export type StoreDump = ReadonlyMap<string, readonly Row[]>;

export class StoreReader {
  readonly #store: DatabaseSync;

  constructor(path: string) {
    this.#store = new DatabaseSync(path, { readOnly: true });
  }

  /** Another number whenever somebody else has written. */
  version(): unknown {
    return this.#store.prepare("PRAGMA data_version").get()?.data_version;
  }

  dump(): StoreDump {
    // One transaction: tables of one moment.
    this.#store.exec("BEGIN");
    try {
      const tables = this.#store
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .all();
      return new Map(
        tables.map(({ name }) => [
          String(name),
          this.#store.prepare(`SELECT * FROM "${name}"`).all(),
        ]),
      );
    } finally {
      this.#store.exec("COMMIT");
    }
  }

  close(): void {
    this.#store.close();
  }
}

/**
 * Written while nobody asks anything, too: the lease, upkeep's claims, which workers answer and
 * take work, and how fresh dynamic tables are. What watched tables go through is in the change log.
 */
const watched = new Set(Object.keys({ ...ownWatchedTables, ...watchedRefreshTables }));
const ownBusiness = new Set([
  ...watched,
  "catalog_changes",
  "catalog_revision",
  "coordinator_leases",
  "dynamic_table_columns",
  "dynamic_table_sources",
  "dynamic_table_versions",
  "lake_pins",
  "maintenance_claims",
  "pending_refreshes",
  "queued_refreshes",
  "refresh_claims",
  "refresh_fence",
  "refresh_history",
]);

/** In words. The change log may grow by changes of watched tables, and the revision by as many. */
export function strangeWrites(before: StoreDump, now: StoreDump): string[] {
  const changed = [...now.keys()].filter(
    (table) => !ownBusiness.has(table) && textOf(now, table) !== textOf(before, table),
  );
  const revisionBefore = revisionOf(before);
  const added = (now.get("catalog_changes") ?? []).filter(
    ({ revision }) => Number(revision) > revisionBefore,
  );
  const strange = added.filter(({ table_name: table }) => !watched.has(String(table)));
  return [
    ...changed.map((table) => `table ${table}`),
    ...strange.map((row) => `change ${JSON.stringify(row)}`),
    ...(revisionOf(now) - revisionBefore === added.length ? [] : ["the revision"]),
  ];
}

export function textOf(dump: StoreDump, table: string): string {
  return JSON.stringify(dump.get(table));
}

function revisionOf(dump: StoreDump): number {
  return Number(dump.get("catalog_revision")?.[0]?.revision);
}
