/** Reads the contents of the lake's files for the consistency check, every value once. */
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type {
  ColumnFacts,
  DataFileFacts,
  DeleteFileFacts,
  FoundFile,
  NumberFacts,
  TableFacts,
} from "../core/check-file-facts.ts";
import type {
  LakeColumn,
  LocalCopy,
  ObjectStore,
  ReferencedFile,
  TableVersion,
} from "../core/index.ts";
import { leavesOf } from "./column-type.ts";
import { columnFactsWidth, dataFactsSql, deleteFactsSql, footerSql } from "./file-facts-sql.ts";
import { rowIdColumn, rowSnapshotColumn } from "./internal-columns.ts";
import type { LakeDuckDb } from "./lake-writer.ts";
import { filesOf, tableSql } from "./relation-sql.ts";

export interface FileReader {
  readonly duckdb: LakeDuckDb;
  readonly objects: ObjectStore;
}

/**
 * `columns` are the table's when the file was written. Throws errors that affect all files. DuckDB
 * never reads a file with a wrong checksum.
 */
export async function readFileFacts(
  { duckdb, objects }: FileReader,
  { kind, path, crc32 }: Pick<ReferencedFile, "kind" | "path"> & { readonly crc32?: number },
  columns: readonly LakeColumn[],
  signal: AbortSignal,
): Promise<FoundFile> {
  const info = await objects.stat(path);
  if (info === undefined) return { kind: "missing" };
  const { sizeBytes } = info;
  // `isDamaged` makes the store read the whole file, even if it was verified before.
  const wanted = { path, sizeBytes, isDamaged: true, ...(crc32 === undefined ? {} : { crc32 }) };
  let copy: LocalCopy | undefined;
  try {
    copy = await objects.fetch(wanted, signal);
  } catch (thrown) {
    if (!(thrown instanceof OperatingError) || thrown.code !== "data_corrupt") throw thrown;
    return { kind: "unreadable", sizeBytes, why: thrown.message.replace(/^.* is damaged: /, "") };
  }
  try {
    const footer = await readFooter(duckdb, copy.localPath, signal);
    const facts =
      kind === "data"
        ? await readData(duckdb, copy.localPath, footer, columns, signal)
        : await readDeletes(duckdb, copy.localPath, signal);
    return { ...facts, sizeBytes, footerSize: footer.size };
  } catch (thrown) {
    if (signal.aborted || thrown instanceof AssertionError) throw thrown;
    return { kind: "unreadable", sizeBytes, why: messageOf(thrown).split("\n")[0] ?? "" };
  } finally {
    copy.release();
  }
}

interface Footer {
  readonly size: number;
  /** The counts of each leaf by field id. */
  readonly leaves: ReadonlyMap<number, { readonly slots: number; readonly nulls: number }>;
}

async function readFooter(
  duckdb: LakeDuckDb,
  localPath: string,
  signal: AbortSignal,
): Promise<Footer> {
  const rows = await duckdb.run(footerSql(localPath), signal);
  return {
    size: Number(rows[0]?.[0] ?? 0),
    leaves: new Map(
      rows.map(([, fieldId, slots, nulls]) => [
        Number(fieldId ?? -1),
        { slots: Number(slots ?? 0), nulls: Number(nulls ?? 0) },
      ]),
    ),
  };
}

type Read<Facts> = Omit<Facts, "sizeBytes" | "footerSize">;

async function readData(
  duckdb: LakeDuckDb,
  localPath: string,
  { leaves }: Footer,
  columns: readonly LakeColumn[],
  signal: AbortSignal,
): Promise<Read<DataFileFacts>> {
  const [row = []] = await duckdb.run(dataFactsSql(localPath, columns), signal);
  const recordCount = Number(row[0]);
  const ofColumns = row.slice(9);
  const facts = columns.flatMap((column, at) => {
    const [count, min, max, nan] = ofColumns.slice(at * columnFactsWidth);
    return leavesOf(column).flatMap(({ fieldId: columnId, path }): readonly ColumnFacts[] => {
      const unknown = { columnId, min: undefined, max: undefined, containsNan: undefined };
      if (path.length > 1) {
        // Nested values cannot be counted by rows, so the footer's counts are used.
        const { slots, nulls } = leaves.get(columnId) ?? { slots: 0, nulls: 0 };
        return [{ ...unknown, valueCount: slots - nulls, nullCount: nulls }];
      }
      const valueCount = Number(count);
      const nullCount = recordCount - valueCount;
      const containsNan = typeof nan === "boolean" ? nan : undefined;
      return [{ columnId, valueCount, nullCount, min: textOf(min), max: textOf(max), containsNan }];
    });
  });
  return {
    kind: "data",
    recordCount,
    columns: facts,
    rowIds: leaves.has(rowIdColumn.fieldId) ? numbersOf(row.slice(1, 5)) : undefined,
    rowSnapshots: leaves.has(rowSnapshotColumn.fieldId) ? numbersOf(row.slice(5, 9)) : undefined,
  };
}

async function readDeletes(
  duckdb: LakeDuckDb,
  localPath: string,
  signal: AbortSignal,
): Promise<Read<DeleteFileFacts>> {
  const [row = []] = await duckdb.run(deleteFactsSql(localPath), signal);
  const [count, positionMin, positionMax, isIncreasing, dataPaths] = row;
  const rowSnapshots = numbersOf(row.slice(5, 9));
  return {
    kind: "delete",
    recordCount: Number(count),
    positionMin: Number(positionMin),
    positionMax: Number(positionMax),
    isIncreasing: isIncreasing === true,
    dataPaths: Array.isArray(dataPaths) ? dataPaths.map(String) : [],
    rowSnapshots: rowSnapshots.count === 0 ? undefined : rowSnapshots,
  };
}

function numbersOf([count, distinctCount, min, max]: readonly unknown[]): NumberFacts {
  return {
    count: Number(count),
    distinctCount: Number(distinctCount),
    min: Number(min ?? 0),
    max: Number(max ?? 0),
  };
}

function textOf(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

/** Undefined when the table has no files or one was deleted meanwhile. */
export async function readTableFacts(
  { duckdb, objects }: FileReader,
  version: TableVersion,
  signal: AbortSignal,
): Promise<TableFacts | undefined> {
  if (version.files.length === 0) return undefined;
  const copies = new Map<string, LocalCopy>();
  try {
    for (const { path } of filesOf(version)) {
      const info = await objects.stat(path);
      if (info === undefined) return undefined;
      copies.set(path, await objects.fetch({ path, sizeBytes: info.sizeBytes }, signal));
    }
    const localPaths = new Map([...copies].map(([path, { localPath }]) => [path, localPath]));
    const noColumns = { ...version, table: { ...version.table, columns: [] } };
    const rows = tableSql(noColumns, { rowIds: true, localPaths });
    const sql = `SELECT count(*), count(DISTINCT _row_id) FROM (${rows})`;
    const [row = []] = await duckdb.run(sql, signal);
    return { rowCount: Number(row[0]), rowIdCount: Number(row[1]) };
  } finally {
    for (const copy of copies.values()) copy.release();
  }
}
