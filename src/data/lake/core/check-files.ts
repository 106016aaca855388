/** Checks data files and delete files against each other. */

import { duplicates, overlapping } from "./check-snapshots.ts";
import type { LakeRows } from "./rows.ts";
import { type DataFileRow, joinPath } from "./rows.ts";

export interface ReferencedFile {
  readonly kind: "data" | "delete";
  readonly fileId: number;
  readonly tableId: number;
  /** Relative to the lake's root. */
  readonly path: string;
}

/** Every file that a catalog row names. */
export function referencedFiles(rows: LakeRows): readonly ReferencedFile[] {
  const directories = directoriesOf(rows);
  const pathOf = (row: { table_id: number; path: string; path_is_relative: number }): string =>
    joinPath({ path: directories.get(row.table_id) ?? "", path_is_relative: 1 }, row);
  return [
    ...rows.ducklake_data_file.map((row) => ({
      kind: "data" as const,
      fileId: row.data_file_id,
      tableId: row.table_id,
      path: pathOf(row),
    })),
    ...rows.ducklake_delete_file.map((row) => ({
      kind: "delete" as const,
      fileId: row.delete_file_id,
      tableId: row.table_id,
      path: pathOf(row),
    })),
  ];
}

function directoriesOf({ ducklake_schema, ducklake_table }: LakeRows): ReadonlyMap<number, string> {
  const schemas = new Map(ducklake_schema.map((row) => [row.schema_id, row]));
  return new Map(
    ducklake_table.flatMap((table) => {
      const schema = schemas.get(table.schema_id);
      return schema === undefined ? [] : [[table.table_id, joinPath(schema, table)] as const];
    }),
  );
}

export function checkFiles(rows: LakeRows): string[] {
  return [
    ...checkDataFiles(rows),
    ...checkRowIds(rows),
    ...checkDeleteFiles(rows),
    ...checkPaths(rows),
  ];
}

function checkDataFiles({ ducklake_table, ducklake_data_file }: LakeRows): string[] {
  const tables = Map.groupBy(ducklake_table, (row) => row.table_id);
  return ducklake_data_file.flatMap((row) => {
    const what = `data file ${row.data_file_id}`;
    const problems: string[] = [];
    const versions = tables.get(row.table_id);
    if (versions === undefined) problems.push(`${what} is of no table`);
    else {
      const begin = Math.min(...versions.map((table) => table.begin_snapshot));
      const isDropped = versions.every((table) => table.end_snapshot !== null);
      if (row.begin_snapshot < begin) problems.push(`${what} is older than its table`);
      if (isDropped && row.end_snapshot === null)
        problems.push(`${what} is there, its table is dropped`);
    }
    if (row.record_count <= 0) problems.push(`${what} has ${row.record_count} rows`);
    if (row.file_size_bytes <= 0) problems.push(`${what} has ${row.file_size_bytes} bytes`);
    if (row.file_format !== "parquet") problems.push(`${what} has the format ${row.file_format}`);
    if (row.partial_max !== null && row.partial_max < row.begin_snapshot) {
      problems.push(`${what} has rows up to snapshot ${row.partial_max}, and begins after it`);
    }
    return problems;
  });
}

/** Row id ranges of files do not overlap, and lie below the table's next row id. */
function checkRowIds({ ducklake_data_file, ducklake_table_stats }: LakeRows): string[] {
  const next = new Map(ducklake_table_stats.map((row) => [row.table_id, row.next_row_id]));
  const problems: string[] = [];
  for (const [tableId, own] of Map.groupBy(ducklake_data_file, (row) => row.table_id)) {
    const ordered = own.filter(hasRange).sort((a, b) => a.row_id_start - b.row_id_start);
    for (const [index, row] of ordered.entries()) {
      const end = row.row_id_start + row.record_count;
      const follower = ordered[index + 1];
      if (follower !== undefined && follower.row_id_start < end) {
        problems.push(`data files ${row.data_file_id} and ${follower.data_file_id} share row ids`);
      }
      if (end > (next.get(tableId) ?? 0)) {
        problems.push(
          `data file ${row.data_file_id} has row ids up to ${end}, the next is ${next.get(tableId)}`,
        );
      }
    }
  }
  return problems;
}

function hasRange(row: DataFileRow): row is DataFileRow & { row_id_start: number } {
  return row.row_id_start !== null;
}

function checkDeleteFiles({ ducklake_data_file, ducklake_delete_file }: LakeRows): string[] {
  const files = new Map(ducklake_data_file.map((row) => [row.data_file_id, row]));
  const problems = overlapping(ducklake_delete_file, (row) => row.data_file_id).map(
    (row) => `data file ${row.data_file_id} has two delete files at snapshot ${row.begin_snapshot}`,
  );
  for (const row of ducklake_delete_file) {
    const what = `delete file ${row.delete_file_id}`;
    const data = files.get(row.data_file_id);
    if (data === undefined || data.table_id !== row.table_id) {
      problems.push(`${what} is of no data file of its table`);
      continue;
    }
    if (row.begin_snapshot < data.begin_snapshot)
      problems.push(`${what} is older than its data file`);
    if (data.end_snapshot !== null && row.begin_snapshot >= data.end_snapshot) {
      problems.push(`${what} begins after its data file has ended`);
    } else if (data.end_snapshot !== null && (row.end_snapshot ?? Infinity) > data.end_snapshot) {
      problems.push(`${what} is there, its data file has ended`);
    }
    if (row.delete_count < 1 || row.delete_count > data.record_count) {
      problems.push(`${what} deletes ${row.delete_count} of ${data.record_count} rows`);
    }
    if (row.file_size_bytes <= 0) problems.push(`${what} has ${row.file_size_bytes} bytes`);
    if (row.format !== "parquet") problems.push(`${what} has the format ${row.format}`);
    if (row.partial_max !== null && row.partial_max < row.begin_snapshot) {
      problems.push(`${what} has deletes up to snapshot ${row.partial_max}, and begins after it`);
    }
  }
  return problems;
}

function checkPaths(rows: LakeRows): string[] {
  const scheduled = rows.ducklake_files_scheduled_for_deletion;
  const known = new Set(referencedFiles(rows).map(({ path }) => path));
  return [
    ...duplicates(referencedFiles(rows).map(({ path }) => path)).map(
      (path) => `two files are ${path}`,
    ),
    ...scheduled
      .filter(({ path }) => known.has(path))
      .map(({ path }) => `${path} is to be deleted, and in use`),
  ];
}
