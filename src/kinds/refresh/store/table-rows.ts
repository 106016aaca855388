/** Reads rows of `dynamic_tables` and their dependent tables. */

import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import { type DynamicTable, type GraphNode, TableGraph } from "../core/index.ts";
import type { DynamicTablesTable } from "../core/tables.ts";

export type DynamicTableRow = DynamicTablesTable;

/** Undefined when it is not a dynamic table. */
export async function findRow({ db }: Tx, tableId: TableId): Promise<DynamicTableRow | undefined> {
  return await db
    .selectFrom("dynamic_tables")
    .selectAll()
    .where("table_id", "=", tableId)
    .executeTakeFirst();
}

export async function requireRow(tx: Tx, tableId: TableId): Promise<DynamicTableRow> {
  const row = await findRow(tx, tableId);
  if (row !== undefined) return row;
  throw new OperatingError("not_found", "never", `there is no dynamic table with id ${tableId}`);
}

export async function readRows({ db }: Tx): Promise<readonly DynamicTableRow[]> {
  return await db.selectFrom("dynamic_tables").selectAll().orderBy("table_id").execute();
}

export function isStopped({ status }: Pick<DynamicTableRow, "status">): boolean {
  return status === "SUSPENDED" || status === "FAILED";
}

/** The columns of a table that is not failing, or that a person suspended. */
export const notFailing = {
  failing_since_ms: null,
  retry_at_ms: null,
  retry_changed_at_ms: null,
  missing_path: null,
} as const;

export interface SourceRow {
  readonly table_id: number;
  readonly source_table_id: number;
  readonly cursor_snapshot: number | null;
  readonly failed_snapshot: number | null;
}

/** Of all tables, or of the given ones. */
export async function readSources(
  { db }: Tx,
  tableIds?: readonly number[],
): Promise<readonly SourceRow[]> {
  if (tableIds?.length === 0) return [];
  const all = db
    .selectFrom("dynamic_table_sources")
    .selectAll()
    .orderBy("table_id")
    .orderBy("source_table_id");
  return await (tableIds === undefined ? all : all.where("table_id", "in", tableIds)).execute();
}

/**
 * The columns of each source that the definition knows, in their order. All columns of a source
 * without an entry.
 */
export type SourceColumns = ReadonlyMap<TableId, readonly string[]>;

export async function readSourceColumns({ db }: Tx, tableId: number): Promise<SourceColumns> {
  const rows = await db
    .selectFrom("dynamic_table_columns")
    .select(["source_table_id", "column_name"])
    .where("table_id", "=", tableId)
    .orderBy("source_table_id")
    .orderBy("column_order")
    .execute();
  const bySource = new Map<TableId, string[]>();
  for (const { source_table_id, column_name } of rows) {
    const source = source_table_id as TableId;
    bySource.set(source, [...(bySource.get(source) ?? []), column_name]);
  }
  return bySource;
}

export async function readGraph(tx: Tx): Promise<TableGraph<TableNode>> {
  const sources = groupSources(await readSources(tx));
  return new TableGraph(
    (await readRows(tx)).map((row) => ({
      tableId: row.table_id as TableId,
      label: row.dynamic_table,
      sources: (sources.get(row.table_id) ?? []).map(sourceId),
      row,
    })),
  );
}

export interface TableNode extends GraphNode {
  readonly row: DynamicTableRow;
}

export function groupSources(rows: readonly SourceRow[]): ReadonlyMap<number, SourceRow[]> {
  return Map.groupBy(rows, ({ table_id }) => table_id);
}

function sourceId(row: SourceRow): TableId {
  return row.source_table_id as TableId;
}

export function dynamicTableOf(
  row: DynamicTableRow,
  sources: readonly SourceRow[] | undefined,
): DynamicTable {
  return {
    tableId: row.table_id as TableId,
    schema: row.schema_name,
    name: row.name,
    definition: row.definition,
    targetLag:
      row.target_lag_ms === null ? { kind: "downstream" } : { kind: "time", ms: row.target_lag_ms },
    modeWish: row.mode_wish,
    mode: row.mode,
    modeReason: row.mode_reason,
    isVolatile: row.is_volatile === 1,
    status: row.status,
    statusReason: row.status_reason,
    sources: (sources ?? []).map(sourceId),
    dataSnapshot: snapshotOf(row.data_snapshot),
    dataTimeMs: row.data_time_ms ?? undefined,
    failuresInARow: row.failures_in_a_row,
  };
}

export function snapshotOf(value: number | null): SnapshotId | undefined {
  return value === null ? undefined : (value as SnapshotId);
}
