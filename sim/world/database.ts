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
  "maintenance_claims",
  "metric_catalog",
  "metric_segments",
  "metrics_head",
  "schema_version",
  "worker_states",
  "workers",
];

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
  const names = tables.map(({ name }) => String(name));
  assert(names.join() === knownTables.join(), `returnDatabase knows what is in ${names.join()}`);
  return made;
}

/** Nobody uses it any more, and no transaction is under way. */
export function returnDatabase(database: WorldDatabase): void {
  database.shared.connection.exec(`
    DELETE FROM workers;
    DELETE FROM coordinator_leases;
    DELETE FROM catalog_changes;
    DELETE FROM metric_segments;
    DELETE FROM metrics_head;
    DELETE FROM maintenance_claims;
    UPDATE metric_catalog SET version = 0, next_seq = 1;
    UPDATE catalog_revision SET revision = 0, trimmed_revision = 0;
  `);
  spares.push(database);
}
