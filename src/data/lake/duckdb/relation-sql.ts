/**
 * The lake's tables and their changes as SELECTs that DuckDB runs as they are. Texts only: nothing here calls DuckDB.
 *
 *   RS1  A table version is its columns in order, over its files without their deleted rows; an empty one has types too.
 *   RS2  A change is exact (CF1): a row that is removed and added again with equal values is in neither. NULLs are equal, NaN
 *        is, in nested values too; intervals are the same when they are written the same, not when they last as long.
 *   RS3  Both sides of a change have the columns of its end, so that they can be compared: a column added since has what
 *        old rows got by it, a dropped one is not there.
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
  /** `_row_id`, `_file_id` and `_position`, before the table's own columns. Changes have `_row_id`, always. */
  readonly rowIds: boolean;
  /** From the lake's paths (`filesOf`) to local ones. */
  readonly localPaths: ReadonlyMap<string, string>;
}

/** RS1 */
export function tableSql(version: TableVersion, { rowIds, localPaths }: RelationOptions): string {
  const { columns, schemaSnapshot } = version.table;
  const leading = rowIds ? (["_row_id", "_file_id", "_position"] as const) : [];
  return scanSql(version.files.map(liveRows), { columns, leading, localPaths, schemaSnapshot });
}

/** Rows that were there at `from`, and are not, or not the same, at `to`. */
export function removedSql(scan: ChangeScan, options: Pick<RelationOptions, "localPaths">): string {
  return withoutEqual(scan.removed, scan.added, scan, options);
}

/** Rows that are there at `to`, and were not, or not the same, at `from`. */
export function addedSql(scan: ChangeScan, options: Pick<RelationOptions, "localPaths">): string {
  return withoutEqual(scan.added, scan.isAppendOnly ? [] : scan.removed, scan, options);
}

/**
 * Both sides of a change for who does not mind rows that were written anew with equal values: they may be on both sides. To leave
 * them out, every column of every deleted row has to be read; what a reader needs of them is often one column, or only their ids.
 * Where whole files took each other's place the sides are exact, because then most rows may be such.
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

/** Every file that these read, once. */
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

/** RS2 */
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
