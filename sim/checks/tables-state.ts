/** Dynamic tables and the lake as the database has them, read independently of production code. */
import { CompiledQuery } from "kysely";
import type { SharedSqlite } from "../../src/ground/store/index.ts";

export interface TableRow {
  readonly dynamic_table: string;
  readonly table_id: number;
  readonly definition: string;
  readonly status: "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
  readonly status_reason: string;
  readonly suspended_by: string | null;
  /** Null when the last refresh did not fail, or a person suspended the table. */
  readonly failing_since_ms: number | null;
  readonly target_lag_ms: number | null;
  readonly data_snapshot: number | null;
  readonly data_time_ms: number | null;
  readonly published_snapshot: number | null;
}

export interface ClaimRow {
  readonly dynamic_table: string;
  readonly worker_id: string;
  readonly token: number;
  readonly expires_at_ms: number;
}

export interface PendingRow {
  readonly dynamic_table: string;
  readonly request_seq: number;
  readonly target_seq: number;
  readonly done_seq: number;
  readonly target_snapshot: number | null;
}

export interface EndedRefresh {
  readonly token: number;
  readonly state: "SUCCEEDED" | "FAILED" | "CANCELLED";
  readonly action: "FULL" | "INCREMENTAL" | "NO_DATA" | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
}

export interface TablesState {
  readonly nowMs: number;
  /** The lake's newest snapshot. */
  readonly snapshot: number;
  readonly fence: number;
  readonly tables: ReadonlyMap<string, TableRow>;
  readonly sources: ReadonlyMap<number, readonly number[]>;
  readonly pendings: ReadonlyMap<string, PendingRow>;
  readonly claims: ReadonlyMap<string, ClaimRow>;
}

export class TablesReader {
  readonly #connection: SharedSqlite["connection"];
  readonly #nowMs: () => number;

  constructor({ connection }: SharedSqlite, nowMs: () => number) {
    this.#connection = connection;
    this.#nowMs = nowMs;
  }

  select<Row>(text: string, ...parameters: readonly (number | string)[]): readonly Row[] {
    return this.#connection.run(CompiledQuery.raw(text, [...parameters])).rows as Row[];
  }

  /** Equal before and after a transaction that changed no table, no snapshot and no request. */
  readMark(): string {
    const [mark] = this.select<{ mark: string }>(`
      SELECT (SELECT revision FROM catalog_revision) || '/' || (SELECT fence FROM refresh_fence) || '/' ||
             (SELECT max(snapshot_id) FROM ducklake_snapshot) AS mark`);
    return mark?.mark ?? "";
  }

  readClaims(): ReadonlyMap<string, ClaimRow> {
    const rows = this.select<ClaimRow>(
      "SELECT dynamic_table, worker_id, token, expires_at_ms FROM refresh_claims",
    );
    return new Map(rows.map((row) => [row.dynamic_table, row]));
  }

  read(): TablesState {
    const [found] = this.select<{ fence: number; snapshot: number }>(`
      SELECT (SELECT fence FROM refresh_fence) AS fence, (SELECT max(snapshot_id) FROM ducklake_snapshot) AS snapshot`);
    const tables = this.select<TableRow>(`
      SELECT dynamic_table, table_id, definition, status, status_reason, suspended_by, failing_since_ms, target_lag_ms,
             data_snapshot, data_time_ms, published_snapshot FROM dynamic_tables ORDER BY table_id`);
    const sources = this.select<{ table_id: number; source: number }>(
      "SELECT table_id, source_table_id AS source FROM dynamic_table_sources ORDER BY 1, 2",
    );
    const pendings = this.select<PendingRow>(
      "SELECT dynamic_table, request_seq, target_seq, done_seq, target_snapshot FROM pending_refreshes",
    );
    const bySource = new Map<number, number[]>();
    for (const { table_id, source } of sources) {
      bySource.set(table_id, [...(bySource.get(table_id) ?? []), source]);
    }
    return {
      nowMs: this.#nowMs(),
      snapshot: found?.snapshot ?? 0,
      fence: found?.fence ?? 0,
      tables: new Map(tables.map((row) => [row.dynamic_table, row])),
      sources: bySource,
      pendings: new Map(pendings.map((row) => [row.dynamic_table, row])),
      claims: this.readClaims(),
    };
  }

  /** How a table's last refresh ended. */
  readLastEnd(dynamicTable: string): EndedRefresh | undefined {
    return this.select<EndedRefresh>(
      `SELECT token, state, action, error_code, error_message FROM refresh_history
        WHERE dynamic_table = ? ORDER BY refresh_number DESC LIMIT 1`,
      dynamicTable,
    )[0];
  }
}

export function isRunning({ status }: TableRow): boolean {
  return status === "ACTIVE" || status === "INITIALIZING";
}
