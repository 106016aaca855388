/**
 * Reusable databases. Creating one and preparing its statements takes a tenth of a run, so a run
 * that ended well leaves its database, emptied, to the next run of its thread.
 */
import { assert } from "../../src/ground/kernel/errors.ts";
import { createSharedSqlite, type SharedSqlite } from "../../src/ground/store/index.ts";

/** A migration that adds a table fails here, until `returnDatabase` empties it. */
const knownTables = [
  "catalog_changes",
  "catalog_revision",
  "coordinator_leases",
  "dynamic_table_columns",
  "dynamic_table_sources",
  "dynamic_table_statuses",
  "dynamic_table_versions",
  "dynamic_tables",
  "find_max_step_history",
  "load_processes",
  "logical_source_uses",
  "logical_sources",
  "maintenance_claims",
  "metric_catalog",
  "metric_segments",
  "metrics_head",
  "metrics_snapshots",
  "network_links",
  "pending_refreshes",
  "physical_sources",
  "queries",
  "query_checkpoints",
  "query_cleanups",
  "query_deployments",
  "query_fragment_states",
  "query_fragment_transitions",
  "query_fragments",
  "query_history",
  "query_lake_sinks",
  "query_lake_tables",
  "query_logical_sources",
  "query_physical_sources",
  "query_plans",
  "query_sinks",
  "query_states",
  "query_transitions",
  "queued_refreshes",
  "refresh_claims",
  "refresh_fence",
  "refresh_history",
  "refresh_subtasks",
  "run_control_events",
  "run_status",
  "run_value_pools",
  "schema_version",
  "sink_types",
  "sinks",
  "source_types",
  "stream_catalog",
  "stream_checkpoints",
  "stream_requests",
  "stream_secrets",
  "stream_workers",
  "template_value_pools",
  "test_logs",
  "test_results",
  "test_templates",
  "upkeep_holds",
  "warehouse_poll_snapshots",
  "worker_heartbeats",
  "worker_metrics_snapshots",
  "worker_series",
  "worker_states",
  "workers",
];
const lakeTables = /^(ducklake|lake)_/;

const spares: WorldDatabase[] = [];

export class WorldDatabase {
  /** The clock behind `now_ms()`. */
  clock: () => number;
  readonly shared: SharedSqlite;
  /** Makes the lake empty, as it was at first. */
  readonly #emptyLake: string;

  constructor(clock: () => number) {
    this.clock = clock;
    this.shared = createSharedSqlite(() => this.clock());
    this.#emptyLake = this.#tables()
      .filter((name) => lakeTables.test(name))
      .map((name) => `DELETE FROM ${name}; ${this.#insertRows(name)}`)
      .join("\n");
    const others = this.#tables().filter((name) => !lakeTables.test(name));
    assert(others.join() === knownTables.join(), `returnDatabase knows what is in ${others}`);
  }

  emptyLake(): void {
    const { connection } = this.shared;
    // Most worlds have no lake.
    const commits = connection.rows("SELECT count(*) AS n FROM lake_commit_tokens")[0]?.n;
    const snapshots = connection.rows("SELECT count(*) AS n FROM ducklake_snapshot")[0]?.n;
    if (commits !== 0 || snapshots !== 1) connection.exec(this.#emptyLake);
  }

  #tables(): readonly string[] {
    const found = this.shared.connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    );
    return found.map(({ name }) => String(name));
  }

  #insertRows(table: string): string {
    const rows = this.shared.connection.rows(`SELECT * FROM ${table}`);
    return rows.map((row) => `INSERT INTO ${table} VALUES (${literals(row)});`).join(" ");
  }
}

function literals(row: Readonly<Record<string, unknown>>): string {
  const literal = (value: unknown): string => {
    if (value === null) return "NULL";
    return typeof value === "number" ? `${value}` : `'${String(value).replaceAll("'", "''")}'`;
  };
  return Object.values(row).map(literal).join(", ");
}

/** An empty database with the newest schema. */
export function takeDatabase(clock: () => number): WorldDatabase {
  const spare = spares.pop();
  if (spare !== undefined) {
    spare.clock = clock;
    return spare;
  }
  return new WorldDatabase(clock);
}

/** Call it when nobody uses the database and no transaction is under way. */
export function returnDatabase(database: WorldDatabase): void {
  const { connection } = database.shared;
  database.emptyLake();
  connection.exec(`
    DELETE FROM run_status; -- With everything of its runs.
    DELETE FROM test_templates;
    DELETE FROM query_fragments;
    DELETE FROM query_cleanups;
    UPDATE queries SET superseded_by = NULL;
    DELETE FROM queries; -- With its plans and references.
    DELETE FROM query_history;
    DELETE FROM stream_requests;
    DELETE FROM stream_secrets;
    UPDATE physical_sources SET superseded_by = NULL;
    DELETE FROM physical_sources;
    UPDATE sinks SET superseded_by = NULL;
    DELETE FROM sinks;
    DELETE FROM logical_source_uses;
    UPDATE logical_sources SET superseded_by = NULL;
    DELETE FROM logical_sources;
    DELETE FROM network_links;
    UPDATE stream_catalog SET version = 0, last_id = 0;
    DELETE FROM workers;
    DELETE FROM coordinator_leases;
    DELETE FROM catalog_changes;
    DELETE FROM metric_segments;
    DELETE FROM metrics_head;
    DELETE FROM maintenance_claims;
    DELETE FROM upkeep_holds;
    DELETE FROM stream_checkpoints;
    DELETE FROM refresh_history;
    DELETE FROM refresh_subtasks;
    DELETE FROM refresh_claims;
    DELETE FROM queued_refreshes;
    DELETE FROM pending_refreshes;
    DELETE FROM dynamic_table_versions;
    DELETE FROM dynamic_table_columns;
    DELETE FROM dynamic_table_sources;
    DELETE FROM dynamic_tables;
    UPDATE refresh_fence SET fence = 0;
    UPDATE metric_catalog SET version = 0, next_seq = 1;
    UPDATE catalog_revision SET revision = 0, trimmed_revision = 0;
  `);
  spares.push(database);
}
