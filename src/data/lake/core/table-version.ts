/** Builds what readers see at a snapshot from the catalog's rows. Pure. */
import { assert } from "../../../ground/kernel/errors.ts";
import { duckdbTypeOf, type LakeField } from "./column-types.ts";
import { wordsOf } from "./default-values.ts";
import type {
  DataFile,
  DeleteFile,
  FileId,
  LakeColumn,
  LakeTable,
  SnapshotId,
  TableId,
} from "./model.ts";
import type { NeededFile } from "./object-store.ts";
import {
  type ColumnRow,
  isVisible,
  joinPath,
  type ReadChecksum,
  type ReadDataFileRow,
  type ReadDeleteFileRow,
  type SchemaRow,
  type TableRow,
} from "./rows.ts";

export interface TableRows {
  readonly schema: SchemaRow;
  /** The row that is visible at the snapshot. */
  readonly table: TableRow;
  /** All columns that the table ever had. */
  readonly columns: readonly ColumnRow[];
}

export function tableAt({ schema, table, columns }: TableRows, snapshot: SnapshotId): LakeTable {
  return {
    tableId: table.table_id as TableId,
    uuid: table.table_uuid,
    schema: schema.schema_name,
    name: table.table_name,
    path: joinPath(schema, table),
    columns: columnsAt(columns, snapshot),
    schemaSnapshot: lastColumnChange(columns, snapshot),
  };
}

export function columnsAt(rows: readonly ColumnRow[], snapshot: SnapshotId): readonly LakeColumn[] {
  const visible = rows.filter((row) => isVisible(row, snapshot));
  const roots = visible
    .filter(({ parent_column }) => parent_column === null)
    .sort((a, b) => a.column_order - b.column_order);
  return roots.map((row) => ({
    columnId: row.column_id,
    name: row.column_name,
    type: duckdbTypeOf(fieldOf(row, visible)),
    nullable: row.nulls_allowed !== 0,
    initialDefault:
      row.initial_default === null
        ? undefined
        : wordsOf(row.column_type, row.initial_default, "literal"),
    defaultValue: defaultOf(row),
  }));
}

function defaultOf(row: ColumnRow): string | undefined {
  if (row.default_value === null || row.default_value === "NULL") return undefined;
  const kind = row.default_value_type === "expression" ? "expression" : "literal";
  return wordsOf(row.column_type, row.default_value, kind);
}

function fieldOf(row: ColumnRow, rows: readonly ColumnRow[]): LakeField {
  const children = rows
    .filter(({ parent_column }) => parent_column === row.column_id)
    .sort((a, b) => a.column_order - b.column_order)
    .map((child) => fieldOf(child, rows));
  const parentId = row.parent_column ?? undefined;
  return {
    columnId: row.column_id,
    parentId,
    name: row.column_name,
    type: row.column_type,
    children,
  };
}

function lastColumnChange(rows: readonly ColumnRow[], snapshot: SnapshotId): SnapshotId {
  const changes = rows
    .flatMap((row) => [row.begin_snapshot, row.end_snapshot ?? -1])
    .filter((change) => change <= snapshot);
  return Math.max(0, ...changes) as SnapshotId;
}

/** The files of a table at a snapshot with their deletes, in the order of their ids. */
export function filesAt(
  directory: string,
  files: readonly ReadDataFileRow[],
  deletes: readonly ReadDeleteFileRow[],
  snapshot: SnapshotId,
): readonly DataFile[] {
  const deletesOf = new Map<number, ReadDeleteFileRow>();
  for (const row of deletes) {
    if (!isVisible(row, snapshot)) continue;
    assert(
      !deletesOf.has(row.data_file_id),
      `file ${row.data_file_id} has one delete file at a time`,
    );
    deletesOf.set(row.data_file_id, row);
  }
  return files
    .filter((row) => isVisible(row, snapshot))
    .sort((a, b) => a.begin_snapshot - b.begin_snapshot || a.data_file_id - b.data_file_id)
    .map((row) => dataFileAt(directory, row, deletesOf.get(row.data_file_id), snapshot));
}

export function dataFileAt(
  directory: string,
  row: ReadDataFileRow,
  deletes: ReadDeleteFileRow | undefined,
  snapshot: SnapshotId,
): DataFile {
  const isPartial = row.partial_max !== null && snapshot < row.partial_max;
  return {
    fileId: row.data_file_id as FileId,
    path: filePath(directory, row),
    recordCount: row.record_count,
    sizeBytes: row.file_size_bytes,
    ...checksumOf(row),
    footerSize: row.footer_size ?? 0,
    beginSnapshot: row.begin_snapshot as SnapshotId,
    rowIdStart: row.row_id_start ?? undefined,
    hasRowSnapshots: row.partial_max !== null,
    rowsUpTo: isPartial ? snapshot : undefined,
    deletes: deletes === undefined ? undefined : deleteFileAt(directory, deletes, snapshot),
  };
}

export function deleteFileAt(
  directory: string,
  row: ReadDeleteFileRow,
  snapshot: SnapshotId,
): DeleteFile {
  const isPartial = row.partial_max !== null && snapshot < row.partial_max;
  return {
    fileId: row.delete_file_id as FileId,
    path: filePath(directory, row),
    deleteCount: row.delete_count,
    sizeBytes: row.file_size_bytes,
    ...checksumOf(row),
    beginSnapshot: row.begin_snapshot as SnapshotId,
    hasRowSnapshots: row.partial_max !== null,
    upTo: isPartial ? snapshot : undefined,
  };
}

function checksumOf({ crc32, damage }: ReadChecksum): Pick<NeededFile, "crc32" | "isDamaged"> {
  if (crc32 === null || crc32 === undefined) return {};
  return typeof damage === "string" ? { crc32, isDamaged: true } : { crc32 };
}

function filePath(directory: string, row: { path: string; path_is_relative: number }): string {
  return joinPath({ path: directory, path_is_relative: 1 }, row);
}
