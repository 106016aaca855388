/**
 * SELECTs over data files: which of their rows count, and under which names. Files of one kind
 * share a `read_parquet`, so a scan has few arms however many files it has. Pure.
 *
 * Columns are found by field id and called `c<id>` until the projection, so that no user's name
 * collides with DuckDB's virtual columns (`file_index`, `file_row_number`). Only projections, UNION
 * ALL and joins that filters pass are above `read_parquet` (LF15).
 *
 * Every `read_parquet` states its row count (LF20): given a schema, DuckDB 1.5.6 does not look into
 * files when it plans, and takes them for empty. For the same reason it reads a single file with
 * one thread, so a large one is named twice, and the second is filtered out unopened.
 */

import { assert } from "../../../ground/kernel/errors.ts";
import { quoteName, quoteText } from "../../sql/core/index.ts";
import type { ChangedFile, DataFile, DeleteFile, LakeColumn, SnapshotId } from "../core/index.ts";
import { typeText } from "./column-type.ts";
import { deletedPositionColumn, rowIdColumn, rowSnapshotColumn } from "./internal-columns.ts";
import { pathList, perFile } from "./sql-text.ts";

/** DuckDB's default, which `copy-sql.ts` writes too. */
const rowGroupRows = 122_880;

/** DuckDB estimates that a filter keeps a fifth. This many more rows correct the estimate. */
const unfiltered = 4;

/** Columns selected before the table's own. */
export type LeadingColumn = "_row_id" | "_file_id" | "_position" | "_row_snapshot";

export interface ScanShape {
  readonly columns: readonly LakeColumn[];
  readonly leading: readonly LeadingColumn[];
  /** From the lake's paths to local ones. */
  readonly localPaths: ReadonlyMap<string, string>;
  /** The snapshot that last changed `columns`: later files have exactly these. */
  readonly schemaSnapshot?: SnapshotId;
}

/** Files that are read in the same way. */
type Arm = readonly [ChangedFile, ...ChangedFile[]];

/** Rows of all `files`. Without files, an empty relation with types. */
export function scanSql(files: readonly ChangedFile[], shape: ScanShape): string {
  if (files.length === 0) return emptySql(shape);
  const arms = new Map<string, [ChangedFile, ...ChangedFile[]]>();
  for (const file of files) {
    const key = armKey(file, shape.leading);
    const arm = arms.get(key);
    if (arm === undefined) arms.set(key, [file]);
    else arm.push(file);
  }
  return [...arms.values()].map((arm) => armSql(arm, shape)).join("\nUNION ALL\n");
}

export function liveRows(file: DataFile): ChangedFile {
  return { file, rowsAfter: undefined, rows: { kind: "live" } };
}

/** The delete files that decide which rows of `changed` count. */
export function deleteFilesOf({ file, rows }: ChangedFile): readonly DeleteFile[] {
  const files = rows.kind === "live" ? [file.deletes] : [rows.deletes, rows.before];
  return files.filter((deletes) => deletes !== undefined);
}

function armKey({ file, rows, rowsAfter }: ChangedFile, leading: readonly LeadingColumn[]): string {
  const embedsIds = leading.includes("_row_id") && file.rowIdStart === undefined;
  const saysSnapshots = leading.includes("_row_snapshot") && file.hasRowSnapshots;
  const deletes = rows.kind === "live" ? file.deletes !== undefined : rows.before !== undefined;
  return [rows.kind, deletes, embedsIds, saysSnapshots, file.rowsUpTo, rowsAfter].join();
}

function armSql(arm: Arm, shape: ScanShape): string {
  const [{ file: sample, rowsAfter }] = arm;
  if (hasNames(arm, shape)) return namedSql(arm, shape);
  const isTwice = isLargeAlone(arm);
  const filters = [
    ...(isTwice ? ["f.file_index = 0"] : []), // The duplicate.
    ...(sample.rowsUpTo === undefined ? [] : [`f.row_snapshot <= ${sample.rowsUpTo}`]),
    ...(rowsAfter === undefined ? [] : [`f.row_snapshot > ${rowsAfter}`]),
  ];
  const saysSnapshots = shape.leading.includes("_row_snapshot") && sample.hasRowSnapshots;
  const fields = [
    ...shape.columns.map(columnField),
    ...(shape.leading.includes("_row_id") ? [internalField(rowIdColumn.fieldId, "row_id")] : []),
    ...(saysSnapshots || sample.rowsUpTo !== undefined || rowsAfter !== undefined
      ? [internalField(rowSnapshotColumn.fieldId, "row_snapshot")]
      : []),
  ];
  const selected = [
    ...shape.leading.map((name) => `${leadingValue(name, arm)} AS ${name}`),
    ...shape.columns.map(({ columnId, name }) => `f.c${columnId} AS ${quoteName(name)}`),
  ];
  const files = arm.map(({ file }) => ({ path: file.path, rowCount: file.recordCount }));
  const again = files.map(({ path, rowCount }) => ({ path, rowCount: rowCount * unfiltered }));
  const read = isTwice ? [...files, ...again] : files;
  return [
    `SELECT ${selected.join(", ")}`,
    `FROM ${readParquet(read, fields, shape)} AS f`,
    ...positionsJoin(arm, shape),
    ...(filters.length === 0 ? [] : [`WHERE ${filters.join(" AND ")}`]),
  ].join("\n");
}

function isLargeAlone(arm: Arm): boolean {
  return arm.length === 1 && arm[0].file.recordCount > rowGroupRows;
}

/** Types that a file returns unchanged. */
const plainType =
  /^(BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|DATE|TIMESTAMP|DECIMAL\(\d+, ?\d+\))$/;
const virtualName = /^(file_index|file_row_number|filename)$/i;

/** Whether the file is read by name (LF23): DuckDB then joins by a dense key in 2/3 of the time. */
function hasNames(arm: Arm, { columns, leading, schemaSnapshot }: ScanShape): boolean {
  const [{ file, rowsAfter }] = arm;
  if (!isLargeAlone(arm) || leading.length > 0 || schemaSnapshot === undefined) return false;
  if (file.beginSnapshot < schemaSnapshot || file.rowsUpTo !== undefined) return false;
  const isPlain = ({ name, type }: LakeColumn): boolean =>
    plainType.test(type) && !virtualName.test(name);
  return rowsAfter === undefined && columns.every(isPlain);
}

function namedSql(arm: Arm, shape: ScanShape): string {
  const [{ file }] = arm;
  const names = shape.columns.map(({ name }) => `f.${quoteName(name)} AS ${quoteName(name)}`);
  const localPath = localPathOf(file.path, shape);
  return [
    `SELECT ${names.join(", ")}`,
    `FROM read_parquet(${pathList([localPath])}, hive_partitioning = false) AS f`,
    ...positionsJoin(arm, shape),
  ].join("\n");
}

/** Joins by (file, position) where not all positions count. */
function positionsJoin(arm: Arm, shape: ScanShape): readonly string[] {
  const on = "ON d.file_number = f.file_index AND d.position = f.file_row_number";
  const [{ file, rows: sample }] = arm;
  if (sample.kind === "live") {
    if (file.deletes === undefined) return [];
    return [
      `ANTI JOIN (${deletedSql(
        arm.map((changed) => changed.file.deletes),
        shape,
      )}) AS d`,
      on,
    ];
  }
  const deleted = deletedSql(
    arm.map(({ rows }) => deletedBy(rows).deletes),
    shape,
  );
  if (sample.before === undefined) return [`SEMI JOIN (${deleted}) AS d`, on];
  const before = deletedSql(
    arm.map(({ rows }) => deletedBy(rows).before),
    shape,
  );
  return [`SEMI JOIN (${deleted}\nEXCEPT\n${before}) AS d`, on];
}

function deletedBy(rows: ChangedFile["rows"]): Extract<ChangedFile["rows"], { kind: "deleted" }> {
  assert(rows.kind === "deleted", "files of an arm are of one kind");
  return rows;
}

/** Delete files in the order of their data files, so that both have the same `file_index`. */
function deletedSql(
  files: readonly (DeleteFile | undefined)[],
  shape: Pick<ScanShape, "localPaths">,
): string {
  const deletes = files.map((file) => {
    assert(file !== undefined, "files of an arm are alike in having deletes");
    return file;
  });
  const bounds = deletes.map(({ upTo }) => upTo ?? Number.MAX_SAFE_INTEGER);
  const bounded = deletes.some(({ upTo }) => upTo !== undefined);
  const fields = [
    internalField(deletedPositionColumn.fieldId, "position"),
    ...(bounded ? [internalField(rowSnapshotColumn.fieldId, "row_snapshot")] : []),
  ];
  const counted = deletes.map(({ path, deleteCount }) => ({ path, rowCount: deleteCount }));
  const read = `SELECT p.file_index AS file_number, p.position FROM ${readParquet(counted, fields, shape)} AS p`;
  // A file without snapshots was complete when it was made, which is before the bound.
  return bounded ? `${read} WHERE coalesce(p.row_snapshot, 0) <= ${perFile(bounds, "p")}` : read;
}

/** The delete file's `position` and `row_snapshot`, the snapshot that deleted it. */
export function positionsSql(deletes: DeleteFile, localPaths: ReadonlyMap<string, string>): string {
  const fields = [
    internalField(deletedPositionColumn.fieldId, "position"),
    internalField(rowSnapshotColumn.fieldId, "row_snapshot"),
  ];
  const bound = deletes.upTo === undefined ? "" : ` WHERE row_snapshot <= ${deletes.upTo}`;
  const file = { path: deletes.path, rowCount: deletes.deleteCount };
  const read = readParquet([file], fields, { localPaths });
  return `SELECT position, coalesce(row_snapshot, ${deletes.beginSnapshot}) AS row_snapshot FROM ${read}${bound}`;
}

function leadingValue(name: LeadingColumn, arm: Arm): string {
  const [{ file: sample }] = arm;
  switch (name) {
    case "_row_id": {
      if (sample.rowIdStart === undefined) return "f.row_id";
      const starts = arm.map(({ file }) => {
        assert(file.rowIdStart !== undefined, "files of an arm are alike in their row ids");
        return file.rowIdStart;
      });
      // DuckLake's own UPDATE sets a start even where the file carries row ids, which take
      // precedence.
      return `coalesce(f.row_id, ${perFile(starts, "f")} + f.file_row_number)`;
    }
    case "_file_id":
      return perFile(
        arm.map(({ file }) => file.fileId),
        "f",
      );
    case "_position":
      return "f.file_row_number";
    case "_row_snapshot":
      if (sample.hasRowSnapshots) return "f.row_snapshot";
      return perFile(
        arm.map(({ file }) => file.beginSnapshot),
        "f",
      );
  }
}

function readParquet(
  files: readonly { readonly path: string; readonly rowCount: number }[],
  fields: readonly string[],
  { localPaths }: Pick<ScanShape, "localPaths">,
): string {
  const local = files.map(({ path }) => localPathOf(path, { localPaths }));
  const rowCount = files.reduce((sum, file) => sum + file.rowCount, 0);
  const options = [
    "hive_partitioning = false",
    `explicit_cardinality = ${Math.max(rowCount, 1)}`, // 0 would mean unknown.
    `schema = MAP {${fields.join(", ")}}`,
  ];
  return `read_parquet(${[pathList(local), ...options].join(", ")})`;
}

function localPathOf(path: string, { localPaths }: Pick<ScanShape, "localPaths">): string {
  const localPath = localPaths.get(path);
  assert(localPath !== undefined, `no local path of ${path}`);
  return localPath;
}

/** Finds the column by field id. Defaults are texts, since a MAP's values have one type. */
export function columnField(column: LakeColumn): string {
  const { columnId, initialDefault } = column;
  const typed = typeText(column);
  const value =
    initialDefault === undefined ? "NULL" : `CAST(CAST(${initialDefault} AS ${typed}) AS VARCHAR)`;
  return `${columnId}: {name: 'c${columnId}', type: ${quoteText(typed)}, default_value: ${value}}`;
}

export function internalField(fieldId: number, name: string): string {
  return `${fieldId}: {name: '${name}', type: 'BIGINT', default_value: NULL}`;
}

function emptySql({ columns, leading }: ScanShape): string {
  const selected = [
    ...leading.map((name) => `NULL::BIGINT AS ${name}`),
    ...columns.map((column) => `CAST(NULL AS ${typeText(column)}) AS ${quoteName(column.name)}`),
  ];
  return `SELECT ${selected.join(", ")} WHERE false`;
}
