/** Checks counts and bounds, from which readers answer `count`, `min` and `max`. */

import { duplicates } from "./check-snapshots.ts";
import { isNested } from "./column-types.ts";
import type { SnapshotId } from "./model.ts";
import type { LakeRows } from "./rows.ts";
import { type ColumnRow, type DataFileRow, isVisible } from "./rows.ts";
import { compareStatistics, summarize } from "./statistics.ts";

export function checkStatistics(rows: LakeRows): string[] {
  return [...checkFileStatistics(rows), ...checkTableStatistics(rows), ...checkBounds(rows)];
}

function checkFileStatistics(rows: LakeRows): string[] {
  const files = new Map(rows.ducklake_data_file.map((row) => [row.data_file_id, row]));
  const columns = Map.groupBy(rows.ducklake_column, (row) => row.table_id);
  const stats = Map.groupBy(rows.ducklake_file_column_stats, (row) => row.data_file_id);
  const problems: string[] = [];
  for (const row of rows.ducklake_file_column_stats) {
    const what = `statistics of column ${row.column_id} in data file ${row.data_file_id}`;
    const file = files.get(row.data_file_id);
    const column = columns.get(row.table_id)?.find((own) => own.column_id === row.column_id);
    if (file === undefined || file.table_id !== row.table_id)
      problems.push(`${what}: there is no such file`);
    else if (column === undefined) problems.push(`${what}: there is no such column`);
    else {
      const count = (row.value_count ?? 0) + (row.null_count ?? 0);
      const isCounted = row.value_count !== null && row.null_count !== null;
      if (isCounted && column.parent_column === null && count !== file.record_count) {
        problems.push(`${what} count ${count} values, the file has ${file.record_count} rows`);
      }
      const { min_value: min, max_value: max } = row;
      if (min === null || max === null) continue;
      if ((compareStatistics(column.column_type, min, max) ?? 0) > 0) {
        problems.push(`${what}: the least, ${min}, is above the greatest, ${max}`);
      }
    }
  }
  for (const file of files.values()) {
    const own = stats.get(file.data_file_id) ?? [];
    const written = leaves(columns.get(file.table_id) ?? [], file);
    for (const column of written) {
      if (!own.some((row) => row.column_id === column.column_id)) {
        problems.push(
          `data file ${file.data_file_id} has no statistics of column ${column.column_name}`,
        );
      }
    }
    for (const id of duplicates(own.map((row) => row.column_id))) {
      problems.push(`data file ${file.data_file_id} has statistics of column ${id} twice`);
    }
  }
  return problems;
}

/** The leaf columns, with file statistics, of the table when the file was written. */
function leaves(columns: readonly ColumnRow[], file: DataFileRow): readonly ColumnRow[] {
  const snapshot = file.begin_snapshot as SnapshotId;
  return columns.filter(
    (row) =>
      isVisible(row, snapshot) && row.parent_column === null && hasStatistics(row.column_type),
  );
}

function hasStatistics(type: string): boolean {
  return !isNested(type) && !/^(interval|timetz|variant|geometry)$/i.test(type);
}

function checkTableStatistics(rows: LakeRows): string[] {
  const stats = new Map(rows.ducklake_table_stats.map((row) => [row.table_id, row]));
  const problems = duplicates(rows.ducklake_table_stats.map((row) => row.table_id)).map(
    (id) => `table ${id} has statistics twice`,
  );
  for (const [tableId, own] of liveFiles(rows)) {
    const row = stats.get(tableId);
    const count = own.reduce((total, file) => total + file.record_count, 0);
    if (row === undefined) problems.push(`table ${tableId} has files and no statistics`);
    else if (row.record_count < count) {
      problems.push(`table ${tableId} counts ${row.record_count} rows, its files have ${count}`);
    }
  }
  for (const row of rows.ducklake_table_column_stats) {
    const isKnown = rows.ducklake_column.some(
      (column) => column.table_id === row.table_id && column.column_id === row.column_id,
    );
    if (!isKnown)
      problems.push(
        `table ${row.table_id} has statistics of column ${row.column_id}, which is not there`,
      );
  }
  return problems;
}

function liveFiles(rows: LakeRows): ReadonlyMap<number, DataFileRow[]> {
  const live = rows.ducklake_data_file.filter((row) => row.end_snapshot === null);
  return Map.groupBy(live, (row) => row.table_id);
}

/** Where a table's count equals its rows, readers trust its bounds: each is exact or absent. */
function checkBounds(rows: LakeRows): string[] {
  const problems: string[] = [];
  const counts = new Map(rows.ducklake_table_stats.map((row) => [row.table_id, row.record_count]));
  const deleted = new Map<number, number>();
  for (const row of rows.ducklake_delete_file) {
    if (row.end_snapshot === null) deleted.set(row.data_file_id, row.delete_count);
  }
  const bounds = Map.groupBy(rows.ducklake_table_column_stats, (row) => row.table_id);
  const fileStats = Map.groupBy(rows.ducklake_file_column_stats, (row) => row.data_file_id);
  for (const [tableId, own] of liveFiles(rows)) {
    const live = own.reduce(
      (total, file) => total + file.record_count - (deleted.get(file.data_file_id) ?? 0),
      0,
    );
    if (counts.get(tableId) !== live) continue;
    for (const row of bounds.get(tableId) ?? []) {
      const type = rows.ducklake_column.find(
        (column) => column.table_id === tableId && column.column_id === row.column_id,
      )?.column_type;
      const files = own.flatMap(
        (file) =>
          fileStats.get(file.data_file_id)?.filter((stat) => stat.column_id === row.column_id) ??
          [],
      );
      if (type === undefined || files.length < own.length) continue;
      const whole = summarize(
        type,
        files.map((stat) => ({
          containsNull: (stat.null_count ?? 1) > 0,
          containsNan: undefined,
          min: stat.min_value ?? undefined,
          max: stat.max_value ?? undefined,
          hasValues: (stat.value_count ?? 1) > 0,
        })),
      );
      const isSame = (a: string | null, b: string | undefined): boolean =>
        a === null || b === undefined || compareStatistics(type, a, b) === 0;
      if (!isSame(row.min_value, whole.min) || !isSame(row.max_value, whole.max)) {
        problems.push(
          `table ${tableId}, column ${row.column_id}: bounds are ${row.min_value} to ${row.max_value}, of its files ${whole.min} to ${whole.max}`,
        );
      }
      if (row.contains_null === 0 && whole.containsNull === true) {
        problems.push(`table ${tableId}, column ${row.column_id}: there are NULLs, it says none`);
      }
    }
  }
  return problems;
}
