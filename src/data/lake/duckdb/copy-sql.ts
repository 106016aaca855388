/** COPY statements that write the lake's files: zstd, field ids, statistics as the result. Pure. */
import { quoteName, quoteText } from "../../sql/core/index.ts";
import type { LakeColumn, SnapshotId } from "../core/index.ts";
import { fieldIdsText, storedTypeText } from "./column-type.ts";
import {
  deletedPathColumn,
  deletedPositionColumn,
  rowIdColumn,
  rowSnapshotColumn,
} from "./internal-columns.ts";
import { pathList } from "./sql-text.ts";

const rowGroupRows = 122_880;

export interface CopyRows {
  /** Selects the hidden columns in this order, then the table's by position. */
  readonly select: string;
  readonly columns: readonly LakeColumn[];
  readonly rowIds: boolean;
  readonly rowSnapshots: boolean;
  readonly localPath: string;
}

/**
 * Writes one file in the order of the rows, which DuckDB loses when it splits files itself. Values
 * are cast to the columns' types.
 */
export function copyRowsSql({ columns, ...request }: CopyRows): string {
  const hidden = hiddenColumns(request);
  const selected = [
    ...columns.map((column) => {
      const name = quoteName(column.name); // DuckDB's errors for bad values name it.
      return `CAST(r.${name} AS ${storedTypeText(column)}) AS ${name}`;
    }),
    ...hidden.map(({ name }) => `CAST(r.${name} AS BIGINT) AS ${name}`),
  ];
  const fieldIds = [
    ...columns.map((column) => `${quoteName(column.name)}: ${fieldIdsText(column)}`),
    ...hidden.map(({ name, fieldId }) => `${name}: ${fieldId}`),
  ];
  const given = [...hidden, ...columns].map(({ name }) => quoteName(name));
  // The line break ends a comment at the end of the SELECT.
  return `COPY (SELECT ${selected.join(", ")} FROM (${request.select}\n) AS r(${given.join(", ")}))
TO ${quoteText(request.localPath)} (${parquetOptions(fieldIds, columns.some(isList) ? "V1" : "V2")})`;
}

/** Selects rows `from` (inclusive) to `to` (exclusive) of a file that `copyRowsSql` wrote. */
export function pieceSql(written: CopyRows, from: number, to: number): string {
  const hidden = hiddenColumns(written).map(({ name }) => name);
  const own = written.columns.map((_, at) => `v${at}`);
  // Other names than in the file: a column named `file_row_number` would hide DuckDB's own.
  return `SELECT ${[...hidden, ...own].join(", ")}
FROM read_parquet(${pathList([written.localPath])}, hive_partitioning = false) AS p(${[...own, ...hidden].join(", ")})
WHERE p.file_row_number >= ${from} AND p.file_row_number < ${to}`;
}

/** The rows of a piece, so that pieces have about `pieceBytes` and end where row groups do. */
export function rowsOfPiece(rowCount: number, sizeBytes: number, pieceBytes: number): number {
  const pieces = Math.ceil(sizeBytes / pieceBytes);
  return Math.ceil(rowCount / pieces / rowGroupRows) * rowGroupRows;
}

function hiddenColumns({
  rowIds,
  rowSnapshots,
}: Pick<CopyRows, "rowIds" | "rowSnapshots">): readonly {
  readonly name: string;
  readonly fieldId: number;
}[] {
  return [...(rowIds ? [rowIdColumn] : []), ...(rowSnapshots ? [rowSnapshotColumn] : [])];
}

/** A table of (file, position) in one connection, so that it can be read several times. */
const positionsTable = "_lake_positions";

/** Distinct positions. The user's SELECT runs once. */
export function createPositionsSql(select: string): string {
  return `CREATE OR REPLACE TEMP TABLE ${positionsTable} AS SELECT DISTINCT file_id::BIGINT AS file_id, position::BIGINT AS position
FROM (${select}\n) AS r(file_id, position) WHERE position IS NOT NULL`;
}

/** The number of positions by file. */
export const countPositionsSql: string = `SELECT file_id, count(*) FROM ${positionsTable} GROUP BY file_id ORDER BY file_id`;

export const dropPositionsSql: string = `DROP TABLE IF EXISTS ${positionsTable}`;

/** Rows of `scan` (`_row_id`, `_file_id`, `_position`, then columns) at none of the positions. */
export function movedRowsSql(scan: string): string {
  return `SELECT s.* EXCLUDE (_file_id, _position) FROM (${scan}) AS s
ANTI JOIN ${positionsTable} AS p ON p.file_id = s._file_id AND p.position = s._position`;
}

export interface CopyDeletes {
  readonly dataFile: { readonly fileId: number; readonly path: string };
  /** Selects earlier deletes: `position` and `row_snapshot`. Undefined when there are none. */
  readonly deleted: string | undefined;
  /** The file carries each position's snapshot; this is the snapshot of new ones. */
  readonly asSnapshot: SnapshotId | undefined;
  readonly localPath: string;
}

/** All deleted positions of a data file, increasing. A repeated one keeps its first snapshot. */
export function copyDeletesSql(request: CopyDeletes): string {
  const { dataFile, deleted, asSnapshot } = request;
  const fresh = `SELECT position, ${asSnapshot ?? 0}::BIGINT AS row_snapshot FROM ${positionsTable} WHERE file_id = ${dataFile.fileId}`;
  const all = deleted === undefined ? fresh : `${fresh}\nUNION ALL\n${deleted}`;
  const columns = [
    deletedPathColumn,
    deletedPositionColumn,
    ...(asSnapshot === undefined ? [] : [rowSnapshotColumn]),
  ];
  const values = [
    quoteText(dataFile.path),
    "position",
    ...(asSnapshot === undefined ? [] : ["min(row_snapshot)"]),
  ];
  const selected = columns.map(({ name }, at) => `${values[at]} AS ${name}`);
  return `COPY (SELECT ${selected.join(", ")} FROM (${all}) GROUP BY position ORDER BY position)
TO ${quoteText(request.localPath)} (${parquetOptions(
    columns.map(({ name, fieldId }) => `${name}: ${fieldId}`),
    "V2",
  )})`;
}

/** Whether the column has lists or maps, nested ones included (LF24). */
function isList(column: LakeColumn): boolean {
  return /\[\d*\]|\bMAP\(/.test(storedTypeText(column));
}

/** Parquet 2 packs integers, which takes less than half the time to read. */
function parquetOptions(fieldIds: readonly string[], version: "V1" | "V2"): string {
  return `FORMAT parquet, PARQUET_VERSION ${version}, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows}, RETURN_STATS, FIELD_IDS {${fieldIds.join(", ")}}`;
}
