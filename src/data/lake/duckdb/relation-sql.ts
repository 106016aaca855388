/**
 * The lake's tables and their changes as the texts of SELECTs. Pure. A change is exact (LF10). Both
 * of its sides have the columns at its end, so that they can be compared: a new column has its
 * initial default in old rows, and a dropped one is left out.
 */
import { quoteName } from "../../sql/core/index.ts";
import type {
  ChangedFile,
  ChangeScan,
  LakeColumn,
  NeededFile,
  TableVersion,
} from "../core/index.ts";
import { leavesOf } from "./column-type.ts";
import { deleteFilesOf, liveRows, scanSql } from "./scan-sql.ts";

export interface RelationOptions {
  /** Adds `_row_id`, `_file_id` and `_position` in front. Changes always have `_row_id`. */
  readonly rowIds: boolean;
  /** From the lake's paths (`filesOf`) to local ones. */
  readonly localPaths: ReadonlyMap<string, string>;
}

/** The table's columns in order, without deleted rows. An empty table has types too. */
export function tableSql(version: TableVersion, { rowIds, localPaths }: RelationOptions): string {
  const { columns, schemaSnapshot } = version.table;
  const leading = rowIds ? (["_row_id", "_file_id", "_position"] as const) : [];
  return scanSql(version.files.map(liveRows), { columns, leading, localPaths, schemaSnapshot });
}

/** Rows at `from` that are gone or different at `to`. */
export function removedSql(scan: ChangeScan, options: Pick<RelationOptions, "localPaths">): string {
  return withoutEqual(scan.removed, scan.added, scan, options);
}

/** Rows at `to` that are new or different since `from`. */
export function addedSql(scan: ChangeScan, options: Pick<RelationOptions, "localPaths">): string {
  return withoutEqual(scan.added, scan.isAppendOnly ? [] : scan.removed, scan, options);
}

/**
 * Both sides of a change, where rows rewritten with equal values may be on both sides (LF21). To
 * leave those out, every column of every deleted row must be read; readers often need one column,
 * or only ids. Where whole files were replaced the sides are exact, because most rows may be equal.
 */
export function roughChangeSql(
  scan: ChangeScan,
  options: Pick<RelationOptions, "localPaths">,
): { readonly added: string; readonly removed: string } {
  const { added, removed, after } = scan;
  if (removed.some(({ rows }) => rows.kind === "live")) {
    return { added: addedSql(scan, options), removed: removedSql(scan, options) };
  }
  const { localPaths } = options;
  const shape = { columns: after.columns, leading: ["_row_id"] as const, localPaths };
  return { added: scanSql(added, shape), removed: scanSql(removed, shape) };
}

/** Every file that the relation reads, once. */
export function filesOf(relation: TableVersion | ChangeScan): readonly NeededFile[] {
  const changed =
    "files" in relation ? relation.files.map(liveRows) : [...relation.removed, ...relation.added];
  const needed = new Map<string, NeededFile>();
  for (const each of changed) {
    for (const { path, sizeBytes, crc32, isDamaged } of [each.file, ...deleteFilesOf(each)])
      needed.set(path, {
        path,
        sizeBytes,
        ...(crc32 === undefined ? {} : { crc32 }),
        ...(isDamaged === undefined ? {} : { isDamaged }),
      });
  }
  return [...needed.values()];
}

/** Leaves out rows that are on the other side with equal values. */
function withoutEqual(
  files: readonly ChangedFile[],
  others: readonly ChangedFile[],
  { after }: ChangeScan,
  { localPaths }: Pick<RelationOptions, "localPaths">,
): string {
  const shape = { columns: after.columns, leading: ["_row_id"] as const, localPaths };
  const rows = scanSql(files, shape);
  if (files.length === 0 || others.length === 0) return rows;
  return differentSql(`(${rows})`, `(${scanSql(others, shape)})`, after.columns);
}

function differentSql(rows: string, others: string, columns: readonly LakeColumn[]): string {
  const conditions = ["a._row_id = b._row_id", ...columns.map(areEqual)];
  return `SELECT a.* FROM ${rows} AS a\nANTI JOIN ${others} AS b\nON ${conditions.join(" AND ")}`;
}

function areEqual(column: LakeColumn): string {
  const [a, b] = [`a.${quoteName(column.name)}`, `b.${quoteName(column.name)}`];
  const equal = `${a} IS NOT DISTINCT FROM ${b}`;
  const hasIntervals = leavesOf(column).some(({ type }) => type === "interval");
  return hasIntervals ? `${equal} AND ${a}::VARCHAR IS NOT DISTINCT FROM ${b}::VARCHAR` : equal;
}
