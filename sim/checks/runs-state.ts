/** Load tests as the database has them, read independently of production code. */
import type { SharedSqlite } from "../../src/ground/store/index.ts";

export interface RunRow {
  readonly run_id: string;
  readonly status: string;
  readonly phase: string;
  readonly scenario_config: string;
  readonly stop_reason: string | null;
  readonly cancellation_reason: string | null;
  readonly total_workers_expected: number;
  readonly total_ops: number;
  readonly worker_targets: string;
  readonly find_max_state: string | null;
  readonly next_sequence_id: number;
  readonly next_log_sequence: number;
  readonly start_time_ms: number | null;
}

export interface HeartbeatRow {
  readonly run_id: string;
  readonly worker_id: string;
  readonly incarnation: string;
  readonly process_id: number;
  readonly status: string;
  readonly last_heartbeat_ms: number;
  readonly last_error: string | null;
}

export interface EventRow {
  readonly event_type: string;
  readonly sequence_id: number;
}

export interface RunsState {
  readonly runs: ReadonlyMap<string, RunRow>;
  /** The key is the run and the worker. */
  readonly workers: ReadonlyMap<string, HeartbeatRow>;
}

export const noRuns: RunsState = { runs: new Map(), workers: new Map() };

export class RunsReader {
  readonly #database: SharedSqlite;

  constructor(database: SharedSqlite) {
    this.#database = database;
  }

  read(): RunsState {
    const runs = this.#rows<RunRow>("SELECT * FROM run_status");
    const workers = this.#rows<HeartbeatRow>("SELECT * FROM worker_heartbeats");
    return {
      runs: new Map(runs.map((row) => [row.run_id, row])),
      workers: new Map(workers.map((row) => [`${row.run_id}/${row.worker_id}`, row])),
    };
  }

  events(runId: string, from: number): readonly EventRow[] {
    return this.#rows<EventRow>(
      `SELECT event_type, sequence_id FROM run_control_events
        WHERE run_id = '${runId}' AND sequence_id >= ${from} ORDER BY sequence_id`,
    );
  }

  logSequences(runId: string): readonly number[] {
    return this.#rows<{ sequence: number }>(
      `SELECT sequence FROM test_logs WHERE run_id = '${runId}' ORDER BY sequence`,
    ).map(({ sequence }) => sequence);
  }

  /** The operations of MEASUREMENT that all workers of the run reported. */
  stored(runId: string): number {
    return this.#count(
      `SELECT coalesce(sum(ops), 0) AS n FROM worker_series WHERE run_id = '${runId}' AND phase = 'MEASUREMENT'`,
    );
  }

  /** The operations of MEASUREMENT in the last recorded second. */
  shownMeasured(runId: string): number {
    return this.#count(
      `SELECT CASE phase WHEN 'MEASUREMENT' THEN total_queries ELSE 0 END AS n FROM metrics_snapshots
        WHERE run_id = '${runId}' ORDER BY timestamp_ms DESC LIMIT 1`,
    );
  }

  children(runId: string): number {
    return this.#count(
      `SELECT coalesce(sum(total_operations), 0) AS n FROM test_results WHERE run_id = '${runId}' AND worker_id IS NOT NULL`,
    );
  }

  parent(runId: string): { total: number; status: string; enrichment: string | null } {
    const [row] = this.#rows<{
      total_operations: number;
      status: string;
      enrichment_status: string | null;
    }>(`SELECT * FROM test_results WHERE test_id = '${runId}'`);
    return {
      total: row?.total_operations ?? -1,
      status: row?.status ?? "",
      enrichment: row?.enrichment_status ?? null,
    };
  }

  /** Of steps that were judged: how often the one that was so most often. */
  stepRepeats(runId: string): number {
    return this.#count(
      `SELECT coalesce(max(n), 0) AS n FROM (SELECT count(*) AS n FROM find_max_step_history WHERE run_id = '${runId}' GROUP BY step_number)`,
    );
  }

  /** How long nobody has held the lease, by the database's clock. */
  leaseLapsedMs(nowMs: number): number {
    const [row] = this.#rows<{ expires_at_ms: number }>(
      "SELECT expires_at_ms FROM coordinator_leases",
    );
    return row === undefined ? 0 : nowMs - row.expires_at_ms;
  }

  #count(sql: string): number {
    return this.#rows<{ n: number }>(sql)[0]?.n ?? 0;
  }

  #rows<T>(sql: string): readonly T[] {
    return this.#database.connection.rows(sql) as unknown as readonly T[];
  }
}
