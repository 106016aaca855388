/** The rows that were added to a table, as the text of a SELECT. Pure. */
import type { ChangedFile, DataFile, LakeColumn, TableVersion } from "../core/index.ts";
import { liveRows, scanSql } from "./scan-sql.ts";

export interface AddedRows {
  readonly columns: readonly LakeColumn[];
  readonly added: readonly ChangedFile[];
  /** Rows that were updated are on both sides, by their ids; they do not count as added. */
  readonly removed: readonly ChangedFile[];
}

export interface AddedRowsOptions {
  /** Only rows with greater ids; undefined for all. */
  readonly afterRowId: number | undefined;
  readonly localPaths: ReadonlyMap<string, string>;
}

/** `_row_id`, then the columns; in no particular order. */
export function addedRowsSql(
  { columns, added, removed }: AddedRows,
  { afterRowId, localPaths }: AddedRowsOptions,
): string {
  const leading = ["_row_id"] as const;
  const rows = scanSql(added, { columns, leading, localPaths });
  const others = scanSql(removed, { columns: [], leading, localPaths });
  const inserted =
    removed.length === 0
      ? rows
      : `SELECT a.* FROM (${rows}) AS a ANTI JOIN (${others}) AS b ON a._row_id = b._row_id`;
  return afterRowId === undefined
    ? inserted
    : `SELECT * FROM (${inserted}) WHERE _row_id > ${afterRowId}`;
}

/** All rows of a version, as if they had been added. */
export function rowsOfVersion({ table, files }: TableVersion): AddedRows {
  return { columns: table.columns, added: files.map(liveRows), removed: [] };
}

/** The ids that the rows of a file can have; undefined where only the file says it. */
export function rowIdsOf({ rowIdStart, recordCount }: DataFile): RowIds | undefined {
  if (rowIdStart === undefined) return undefined;
  return { least: rowIdStart, greatest: rowIdStart + recordCount - 1 };
}

export interface RowIds {
  readonly least: number;
  readonly greatest: number;
}
