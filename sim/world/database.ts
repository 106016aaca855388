/**
 * Databases for worlds, used again. Making one and preparing its statements costs a tenth of a run, so a run that
 * ended well leaves its database, emptied, to the next of its thread.
 */
import { assert } from "../../src/kernel/errors.ts";
import { createSharedSqlite, type SharedSqlite } from "../../src/store/index.ts";

export class WorldDatabase {
  /** What its `now_ms()` asks. */
  clock: () => number;
  readonly shared: SharedSqlite;

  constructor(clock: () => number) {
    this.clock = clock;
    this.shared = createSharedSqlite(() => this.clock());
  }
}

const spares: WorldDatabase[] = [];
/** A migration that adds a table fails here, until `returnDatabase` empties it. */
const knownTables = [
  "catalog_changes",
  "catalog_revision",
  "coordinator_leases",
  "dynamic_table_sources",
  "dynamic_table_statuses",
  "dynamic_table_versions",
  "dynamic_tables",
  "maintenance_claims",
  "metric_catalog",
  "metric_segments",
  "metrics_head",
  "pending_refreshes",
  "queued_refreshes",
  "refresh_claims",
  "refresh_fence",
  "refresh_history",
  "schema_version",
  "worker_states",
  "workers",
];
/** The lake's tables are left as they are: no world has a lake yet. The first that does, empties them. */
const lakeTables = /^(ducklake|lake)_/;

/** An empty database with the newest schema. */
export function takeDatabase(clock: () => number): WorldDatabase {
  const spare = spares.pop();
  if (spare !== undefined) {
    spare.clock = clock;
    return spare;
  }
  const made = new WorldDatabase(clock);
  const tables = made.shared.connection.rows(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
  );
  const names = tables.map(({ name }) => String(name)).filter((name) => !lakeTables.test(name));
  assert(names.join() === knownTables.join(), `returnDatabase knows what is in ${names.join()}`);
  return made;
}

/** Nobody uses it any more, and no transaction is under way. */
export function returnDatabase(database: WorldDatabase): void {
  const { connection } = database.shared;
  const snapshots = connection.rows("SELECT count(*) AS n FROM ducklake_snapshot")[0]?.n;
  assert(snapshots === 1, "returnDatabase empties the lake of a world that has one");
  connection.exec(`
    DELETE FROM workers;
    DELETE FROM coordinator_leases;
    DELETE FROM catalog_changes;
    DELETE FROM metric_segments;
    DELETE FROM metrics_head;
    DELETE FROM maintenance_claims;
    DELETE FROM refresh_history;
    DELETE FROM refresh_claims;
    DELETE FROM queued_refreshes;
    DELETE FROM pending_refreshes;
    DELETE FROM dynamic_table_versions;
    DELETE FROM dynamic_table_sources;
    DELETE FROM dynamic_tables;
    UPDATE refresh_fence SET fence = 0;
    UPDATE metric_catalog SET version = 0, next_seq = 1;
    UPDATE catalog_revision SET revision = 0, trimmed_revision = 0;
  `);
  spares.push(database);
}
