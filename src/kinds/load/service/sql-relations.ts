/**
 * What SQL may read of load tests: the results, and the specification's views over them. Rules:
 * RV2.
 */

import {
  type OpenedRelation,
  type ReadableRelation,
  type ReadableRelations,
  rowsFile,
  type WantedRows,
} from "../../../data/lake/index.ts";
import { quoteName, quoteText } from "../../../data/sql/core/index.ts";
import type { Store } from "../../../ground/store/index.ts";
import type { LoadTables } from "../core/tables.ts";
import { enrichedSql, enrichmentTable } from "../executions/enrichment-table.ts";
import { executionColumns, executionTable } from "../executions/execution-table.ts";
import { viewSql } from "../executions/run-views.ts";

type Cell = string | number | null;
type Columns<Row> = Readonly<Partial<Record<keyof Row & string, string>>>;

const valuesCharsMax = 2 * 1024 * 1024;
const pageRows = 5_000;

/** Milliseconds become moments under the name without `_ms`. */
const resultColumns: Columns<LoadTables["test_results"]> = {
  test_id: "VARCHAR",
  run_id: "VARCHAR",
  test_name: "VARCHAR",
  template_id: "VARCHAR",
  template_name: "VARCHAR",
  worker_id: "VARCHAR",
  status: "VARCHAR",
  target_kind: "VARCHAR",
  table_name: "VARCHAR",
  table_type: "VARCHAR",
  warehouse: "VARCHAR",
  load_mode: "VARCHAR",
  query_tag: "VARCHAR",
  start_time_ms: "TIMESTAMP",
  end_time_ms: "TIMESTAMP",
  duration_seconds: "DOUBLE",
  concurrent_connections: "INTEGER",
  total_operations: "BIGINT",
  read_operations: "BIGINT",
  write_operations: "BIGINT",
  failed_operations: "BIGINT",
  unserved: "BIGINT",
  qps: "DOUBLE",
  p50_latency_ms: "DOUBLE",
  p90_latency_ms: "DOUBLE",
  p95_latency_ms: "DOUBLE",
  p99_latency_ms: "DOUBLE",
  p999_latency_ms: "DOUBLE",
  avg_latency_ms: "DOUBLE",
  min_latency_ms: "DOUBLE",
  max_latency_ms: "DOUBLE",
  app_overhead_p50_ms: "DOUBLE",
  app_overhead_p95_ms: "DOUBLE",
  app_overhead_p99_ms: "DOUBLE",
  latency_aggregation_method: "VARCHAR",
  percentiles_valid: "BOOLEAN",
  generator_bound: "BOOLEAN",
  availability_pct: "DOUBLE",
  longest_silence_ms: "DOUBLE",
  verdict: "VARCHAR",
  find_max_result: "VARCHAR",
  slo_result: "VARCHAR",
  enrichment_status: "VARCHAR",
  enrichment_ratio: "DOUBLE",
  cancellation_reason: "VARCHAR",
  created_at_ms: "TIMESTAMP",
  updated_at_ms: "TIMESTAMP",
};

const pollColumns: Columns<LoadTables["warehouse_poll_snapshots"]> = {
  run_id: "VARCHAR",
  timestamp_ms: "TIMESTAMP",
  elapsed_seconds: "DOUBLE",
  warehouse_name: "VARCHAR",
  started_clusters: "INTEGER",
  running: "INTEGER",
  queued: "INTEGER",
  min_cluster_count: "INTEGER",
  max_cluster_count: "INTEGER",
  scaling_policy: "VARCHAR",
};

export function createLoadRelations(store: Store): ReadableRelations {
  const stored = (
    keys: readonly string[],
    open: (wanted?: WantedRows) => Promise<OpenedRelation>,
  ): ReadableRelation => ({
    reads: [],
    keys,
    open: (_there, _signal, wanted) => open(wanted),
  });
  const results = (wanted?: WantedRows): Promise<OpenedRelation> => {
    const columns = Object.keys(resultColumns) as (keyof LoadTables["test_results"])[];
    return openRows(resultColumns, ({ test_id: after = "" }) =>
      store.read(({ db }) =>
        db
          .selectFrom("test_results")
          .select(columns)
          .where("test_id", ">", after)
          .$if(wanted !== undefined, (query) =>
            query.where(wanted?.column as "run_id", "in", wanted?.values ?? []),
          )
          .orderBy("test_id")
          .limit(pageRows)
          .execute(),
      ),
    );
  };
  const polls = (wanted?: WantedRows): Promise<OpenedRelation> => {
    const columns = Object.keys(pollColumns) as (keyof LoadTables["warehouse_poll_snapshots"])[];
    return openRows(pollColumns, ({ snapshot_id: after = "" }) =>
      store.read(({ db }) =>
        db
          .selectFrom("warehouse_poll_snapshots")
          .select([...columns, "snapshot_id"])
          .where("snapshot_id", ">", after)
          .$if(wanted !== undefined, (query) =>
            query.where(wanted?.column as "run_id", "in", wanted?.values ?? []),
          )
          .orderBy("snapshot_id")
          .limit(pageRows)
          .execute(),
      ),
    );
  };
  return new Map([
    ["test_results", stored(["test_id", "run_id"], results)],
    [
      "v_latest_test_results",
      stored([], async () => {
        const { sql, ...rows } = await results();
        const latest = `SELECT * FROM (${sql}) WHERE worker_id IS NULL
QUALIFY row_number() OVER (PARTITION BY test_name ORDER BY created_at DESC, test_id DESC) = 1`;
        return { sql: latest, ...rows };
      }),
    ],
    ["v_warehouse_metrics", stored(["run_id"], polls)],
    ["v_metrics_by_minute", recorded("metrics_by_minute")],
    ["v_cluster_breakdown", recorded("cluster_breakdown")],
    ["v_warehouse_timeseries", recorded("warehouse_timeseries")],
  ]);
}

function recorded(view: Parameters<typeof viewSql>[0]): ReadableRelation {
  return {
    reads: [executionTable, enrichmentTable],
    async open(there) {
      const records = `SELECT * FROM main.${executionTable}`;
      const enrichments = `SELECT * FROM main.${enrichmentTable}`;
      if (!there.has(executionTable)) {
        const nothing = executionColumns.map(
          ({ name, type }) => `CAST(NULL AS ${type}) AS ${quoteName(name)}`,
        );
        return { sql: viewSql(view, `SELECT ${nothing.join(", ")} WHERE false`) };
      }
      const source = there.has(enrichmentTable) ? enrichedSql(records, enrichments) : records;
      return { sql: viewSql(view, source) };
    },
  };
}

/**
 * Opens a relation (RV2). `readPage` returns the rows after the given one, by key; none after the
 * last.
 */
async function openRows<Row extends object>(
  columns: Columns<Row>,
  readPage: (after: Partial<Row>) => Promise<readonly Row[]>,
): Promise<OpenedRelation> {
  const entries = Object.entries(columns) as [keyof Row & string, string][];
  const shown = entries.map(([column, type], index) => {
    const cell = type === "TIMESTAMP" ? `epoch_ms(CAST(c${index} AS BIGINT))` : `c${index}`;
    const shownName = type === "TIMESTAMP" ? column.replace(/_ms$/, "") : column;
    return `CAST(${cell} AS ${type}) AS ${quoteName(shownName)}`;
  });
  const select = `SELECT ${shown.join(", ")} FROM`;
  const cellsOf = (row: Row): readonly Cell[] => entries.map(([column]) => row[column] as Cell);
  const rows: Row[] = [];
  let chars = 0;
  for (let page = await readPage({}); page.length > 0; page = await readPage(page.at(-1) ?? {})) {
    rows.push(...page);
    for (const row of page) chars += valuesOf(cellsOf(row)).length;
    if (chars > valuesCharsMax) {
      const types = entries.map(([, type], index) => `c${index}: '${storedTypes[type] ?? type}'`);
      const options = `format = 'newline_delimited', columns = {${types.join(", ")}}`;
      return {
        sql: `${select} read_json(${rowsFile}, ${options})`,
        lines: linesOf(rows, readPage, cellsOf),
      };
    }
  }
  const names = entries.map((_, index) => `c${index}`).join(", ");
  const nothing = `(VALUES (${entries.map(() => "NULL").join(", ")})) AS t(${names}) WHERE false`;
  if (rows.length === 0) return { sql: `${select} ${nothing}` };
  const values = rows.map((row) => valuesOf(cellsOf(row))).join(",\n");
  return { sql: `${select} (VALUES ${values}) AS t(${names})` };
}

/** The control store's types for columns that SQL shows with another type. */
const storedTypes: Readonly<Record<string, string>> = { TIMESTAMP: "BIGINT", BOOLEAN: "INTEGER" };

/** The rows that were read, and then those after them. */
async function* linesOf<Row extends object>(
  read: readonly Row[],
  readPage: (after: Partial<Row>) => Promise<readonly Row[]>,
  cellsOf: (row: Row) => readonly Cell[],
): AsyncGenerator<string> {
  for (let page = read; page.length > 0; page = await readPage(page.at(-1) ?? {})) {
    const lines = page.map((row) => {
      const cells = cellsOf(row).map((cell, index) => [`c${index}`, cell] as const);
      return `${JSON.stringify(Object.fromEntries(cells))}\n`;
    });
    yield lines.join("");
  }
}

function valuesOf(cells: readonly Cell[]): string {
  return `(${cells.map(literal).join(", ")})`;
}

function literal(cell: Cell): string {
  if (cell === null) return "NULL";
  return typeof cell === "number" ? String(cell) : quoteText(cell);
}
