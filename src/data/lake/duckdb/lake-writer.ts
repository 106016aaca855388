/**
 * Writes the lake's files: rows of a SELECT as data files, positions of rows as delete files.
 * DuckDB makes them in a staging directory; they are then put to the object store under new names.
 * They become part of the lake when a commit names them. Rules: LF3 to LF9, LF12, LF14 and LF22.
 */
import { join } from "node:path";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { quoteName } from "../../sql/core/index.ts";
import type {
  DataFile,
  FileId,
  LakeTable,
  NewDataFile,
  NewDeleteFile,
  ObjectStore,
  PutFile,
  SnapshotId,
  TableVersion,
} from "../core/index.ts";
import { leavesOf } from "./column-type.ts";
import {
  type CopyRows,
  copyDeletesSql,
  copyRowsSql,
  countPositionsSql,
  createPositionsSql,
  dropPositionsSql,
  movedRowsSql,
  pieceSql,
  rowsOfPiece,
} from "./copy-sql.ts";
import { rowSnapshotColumn } from "./internal-columns.ts";
import { liveRows, positionsSql, scanSql } from "./scan-sql.ts";
import { pathList } from "./sql-text.ts";
import { withStaging } from "./staging.ts";
import {
  columnStatistics,
  leafStatistics,
  parseWritten,
  type WrittenFile,
} from "./written-file.ts";

/** The lake's view of DuckDB. It may read the lake's local files, and use the staging directory. */
export interface LakeDuckDb {
  /**
   * Runs one statement at a time and returns its rows as JSON values: BIGINT as text, MAP as a list
   * of `{key, value}`. Throws translated errors, and `cancelled` after DuckDB has stopped.
   */
  run(sql: string, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
}

export interface LakeWriterOptions {
  readonly files?: Files;
  readonly duckdb: LakeDuckDb;
  readonly objects: ObjectStore;
  /** An existing directory (`emptyStaging`) that nothing else uses. */
  readonly stagingDir: string;
  /** For file names, which no two writers may share. */
  readonly prng: Prng;
  readonly fileBytes?: number;
  /** The number of small files from which rows move into one new file. */
  readonly movedFilesMin?: number;
}

export interface WriteRows {
  /** Selects `_row_id` and `_row_snapshot` if asked for, then the table's columns. */
  readonly select: string;
  readonly table: Pick<LakeTable, "path" | "columns">;
  readonly rowIds: "fresh" | "inFile";
  /** Only for compaction, with `inFile`: the SELECT has `_row_snapshot` second. */
  readonly rowSnapshots?: boolean;
}

export interface WriteDeletes {
  readonly version: TableVersion;
  /** Selects `_file_id` and `_position` of the version's rows, in any order. */
  readonly select: string;
  /** Local paths of the version's data and delete files (`withFiles`). */
  readonly localPaths: ReadonlyMap<string, string>;
  /** The commit's snapshot if chosen: replaced delete files then carry snapshots. */
  readonly asSnapshot?: SnapshotId;
}

export interface WrittenDeletes {
  readonly deletes: readonly NewDeleteFile[];
  readonly ended: readonly FileId[];
  /** New files with the remaining rows of ended files, which keep their ids. */
  readonly moved: readonly NewDataFile[];
  /** The number of rows newly deleted. */
  readonly deletedCount: number;
}

const fileBytesDefault = 128 * 1024 * 1024;
/** Deleting from a larger file is cheaper than copying it. */
const movedBytesMax = 4 * 1024 * 1024;
const movedFilesMinDefault = 4;
/** More than this many files' worth is written twice, to split it. DuckLake's are 512 MB. */
const splitAbove = 4;
/** The number of concurrent uploads. */
const atOnceMax = 4;

export class LakeWriter {
  readonly #files: Files;
  readonly #duckdb: LakeDuckDb;
  readonly #objects: ObjectStore;
  readonly #stagingDir: string;
  readonly #prng: Prng;
  readonly #fileBytes: number;
  readonly #movedFilesMin: number;

  constructor(options: LakeWriterOptions) {
    this.#files = options.files ?? realFiles;
    this.#duckdb = options.duckdb;
    this.#objects = options.objects;
    this.#stagingDir = options.stagingDir;
    this.#prng = options.prng;
    this.#fileBytes = options.fileBytes ?? fileBytesDefault;
    this.#movedFilesMin = options.movedFilesMin ?? movedFilesMinDefault;
  }

  /** Files in the order of the rows; none without rows. */
  writeRows(request: WriteRows, signal: AbortSignal): Promise<readonly NewDataFile[]> {
    const { table, rowIds, rowSnapshots = false } = request;
    assert(!rowSnapshots || rowIds === "inFile", "rows that say their snapshot say their id");
    return this.#stage(async (directory, put) => {
      const copy = {
        select: request.select,
        columns: table.columns,
        rowIds: rowIds === "inFile",
        rowSnapshots,
        localPath: join(directory, "rows.parquet"),
      };
      const written = await this.#copyRows(copy, directory, signal);
      await this.#refuseNulls(written, table, signal);
      return await forEachAtMost(atOnceMax, written, async (file): Promise<NewDataFile> => {
        const added = { ...(await this.#putRows(file, table, put)), rowIds };
        return rowSnapshots ? { ...added, rowSnapshots: snapshotsOf(file) } : added;
      });
    }, signal);
  }

  async #putRows(
    file: WrittenFile,
    table: WriteRows["table"],
    put: Put,
  ): Promise<Omit<NewDataFile, "rowIds">> {
    const path = this.#newPath(table.path, ".parquet");
    const { crc32 } = await put(path, file.localPath);
    return {
      path,
      crc32,
      recordCount: file.recordCount,
      sizeBytes: file.sizeBytes,
      footerSize: file.footerSize,
      columns: columnStatistics(file, table.columns),
    };
  }

  /** Writes one file, and splits it only if it is far too large, which is rare. */
  async #copyRows(
    copy: CopyRows,
    directory: string,
    signal: AbortSignal,
  ): Promise<readonly WrittenFile[]> {
    const whole = await this.#copy(copyRowsSql(copy), signal);
    if (whole.recordCount === 0) return [];
    if (whole.sizeBytes <= this.#fileBytes * splitAbove) return [whole];
    const rows = rowsOfPiece(whole.recordCount, whole.sizeBytes, this.#fileBytes);
    const pieces: WrittenFile[] = [];
    for (let from = 0; from < whole.recordCount; from += rows) {
      const select = pieceSql(copy, from, from + rows);
      const localPath = join(directory, `rows-${pieces.length}.parquet`);
      pieces.push(await this.#copy(copyRowsSql({ ...copy, select, localPath }), signal));
    }
    await this.#files.unlink(whole.localPath);
    return pieces;
  }

  async #copy(sql: string, signal: AbortSignal): Promise<WrittenFile> {
    const [row] = await this.#duckdb.run(sql, signal);
    assert(row !== undefined, "COPY says what it wrote");
    return parseWritten(row);
  }

  writeDeletes(request: WriteDeletes, signal: AbortSignal): Promise<WrittenDeletes> {
    return this.#stage(async (directory, put) => {
      await this.#duckdb.run(createPositionsSql(request.select), signal);
      const chosen = await this.#chosenFiles(request.version, signal);
      const small = request.asSnapshot === undefined ? chosen.filter(isMovable) : [];
      const movable = small.length < this.#movedFilesMin ? [] : small;
      const { version, localPaths, asSnapshot } = request;
      const move = { version, localPaths, files: movable, directory };
      const moved = await this.#moveRows(move, put, signal);
      const staged: StagedDeletes[] = [];
      for (const each of chosen.filter((other) => !movable.includes(other))) {
        const localPath = join(directory, `${each.file.fileId}.parquet`);
        staged.push(
          await this.#stageDeletesOf(each, { localPath, localPaths, asSnapshot }, signal),
        );
      }
      await this.#duckdb.run(dropPositionsSql, signal);
      const left = staged.flatMap(({ file, written, hasRowSnapshots }) =>
        written === undefined ? [] : [{ file, written, hasRowSnapshots }],
      );
      const deletes = await forEachAtMost(atOnceMax, left, async (each): Promise<NewDeleteFile> => {
        const path = this.#newPath(request.version.table.path, "-delete.parquet");
        const { crc32 } = await put(path, each.written.localPath);
        const { recordCount: deleteCount, sizeBytes, footerSize } = each.written;
        const { hasRowSnapshots } = each;
        const dataFileId = each.file.fileId;
        return { dataFileId, path, deleteCount, sizeBytes, crc32, footerSize, hasRowSnapshots };
      });
      const ended = [...staged.filter(({ written }) => written === undefined), ...movable];
      const counts = [moved.deletedCount, ...staged.map(({ deletedCount }) => deletedCount)];
      return {
        deletes,
        ended: ended.map(({ file }) => file.fileId),
        moved: moved.files,
        deletedCount: counts.reduce((sum, count) => sum + count, 0),
      };
    }, signal);
  }

  /** Files with rows to delete, and the number of those rows. */
  async #chosenFiles({ files }: TableVersion, signal: AbortSignal): Promise<readonly ChosenFile[]> {
    const byId = new Map(files.map((file) => [String(file.fileId), file]));
    const counts = await this.#duckdb.run(countPositionsSql, signal);
    return counts.map(([fileId, count]) => {
      const file = byId.get(String(fileId));
      assert(file !== undefined, `file ${fileId} is of the version`);
      return { file, positionCount: Number(count) };
    });
  }

  /** Ends many small files and writes their remaining rows into one new file. */
  async #moveRows(
    { version, localPaths, files, directory }: MoveRows,
    put: Put,
    signal: AbortSignal,
  ): Promise<{ readonly files: readonly NewDataFile[]; readonly deletedCount: number }> {
    if (files.length === 0) return { files: [], deletedCount: 0 };
    const rows = files.map(({ file }) => liveRows(file));
    const { table } = version;
    const leading = ["_row_id", "_file_id", "_position"] as const;
    const scan = scanSql(rows, { columns: table.columns, leading, localPaths });
    const copy = {
      select: movedRowsSql(scan),
      columns: table.columns,
      rowIds: true,
      rowSnapshots: false,
      localPath: join(directory, "moved.parquet"),
    };
    const written = await this.#copy(copyRowsSql(copy), signal);
    const before = rows.reduce(
      (sum, { file }) => sum + file.recordCount - (file.deletes?.deleteCount ?? 0),
      0,
    );
    const deletedCount = before - written.recordCount;
    if (written.recordCount === 0) return { files: [], deletedCount };
    return {
      files: [{ ...(await this.#putRows(written, table, put)), rowIds: "inFile" }],
      deletedCount,
    };
  }

  /** Writes every deleted position of a data file, old and new, unless no row remains. */
  async #stageDeletesOf(
    { file, positionCount }: ChosenFile,
    { localPath, localPaths, asSnapshot: chosenSnapshot }: StageDeletes,
    signal: AbortSignal,
  ): Promise<StagedDeletes> {
    const { deletes } = file;
    if (deletes === undefined && positionCount === file.recordCount) {
      const ended = { written: undefined, hasRowSnapshots: false };
      return { file, deletedCount: file.recordCount, ...ended };
    }
    // The first delete file of a data file has a single snapshot.
    const asSnapshot = deletes === undefined ? undefined : chosenSnapshot;
    const deleted = deletes === undefined ? undefined : positionsSql(deletes, localPaths);
    const written = await this.#copy(
      copyDeletesSql({ dataFile: file, deleted, asSnapshot, localPath }),
      signal,
    );
    assert(written.recordCount <= file.recordCount, "positions are of the file");
    const before = await this.#countOf(file, deleted, signal);
    const isAll = written.recordCount === file.recordCount;
    return {
      file,
      deletedCount: written.recordCount - before,
      written: isAll ? undefined : written,
      hasRowSnapshots: asSnapshot !== undefined,
    };
  }

  async #countOf(
    { deletes }: DataFile,
    deleted: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    if (deletes === undefined || deleted === undefined) return 0;
    if (deletes.upTo === undefined) return deletes.deleteCount;
    const [row] = await this.#duckdb.run(`SELECT count(*) FROM (${deleted})`, signal);
    return Number(row?.[0] ?? 0);
  }

  /** Statistics count NULLs, except of nested columns and intervals, for which the file is read. */
  async #refuseNulls(
    files: readonly WrittenFile[],
    { columns }: Pick<LakeTable, "columns">,
    signal: AbortSignal,
  ): Promise<void> {
    const strict = columns.filter(({ nullable }) => !nullable);
    if (strict.length === 0 || files.length === 0) return;
    const asked = strict.filter((column) => {
      const [leaf, ...others] = leavesOf(column);
      const isPlain = leaf !== undefined && others.length === 0 && leaf.path.length === 1;
      const counted = isPlain
        ? files.map((file) => leafStatistics(file, leaf)?.nullCount)
        : [undefined];
      if (counted.some((count) => count !== undefined && count > 0)) throw notNullable(column.name);
      return counted.includes(undefined);
    });
    if (asked.length === 0) return;
    const counts = asked.map(({ name }) => `count(*) FILTER (${quoteName(name)} IS NULL)`);
    const paths = pathList(files.map(({ localPath }) => localPath));
    const [row] = await this.#duckdb.run(
      `SELECT ${counts.join(", ")} FROM read_parquet(${paths})`,
      signal,
    );
    const failed = asked.find((_, at) => Number(row?.[at]) > 0);
    if (failed !== undefined) throw notNullable(failed.name);
  }

  /** Deletes the files that were put if `write` fails. */
  #stage<T>(write: (directory: string, put: Put) => Promise<T>, signal: AbortSignal): Promise<T> {
    const stage = async (directory: string): Promise<T> => {
      const paths: string[] = [];
      const put = async (path: string, localPath: string): Promise<PutFile> => {
        paths.push(path);
        return await this.#objects.put(path, localPath, signal);
      };
      try {
        return await write(directory, put);
      } catch (thrown) {
        // Upkeep deletes what remains as orphans. The original error is reported.
        await this.#objects.delete(paths).catch(() => undefined);
        throw thrown;
      }
    };
    return withStaging(this.#stagingDir, this.#token(), stage, this.#files);
  }

  #newPath(directory: string, ending: string): string {
    return `${directory.replace(/\/+$/, "")}/ducklake-${this.#token()}${ending}`;
  }

  /** 124 random bits. */
  #token(): string {
    return randomText(this.#prng, 24);
  }
}

/** A file and the number of its rows to delete. */
interface ChosenFile {
  readonly file: DataFile;
  readonly positionCount: number;
}

interface MoveRows {
  readonly version: TableVersion;
  readonly localPaths: ReadonlyMap<string, string>;
  readonly files: readonly ChosenFile[];
  readonly directory: string;
}

/** Whether to move rows: not if none remain, and not from a past version of the file. */
function isMovable({ file, positionCount }: ChosenFile): boolean {
  const isNow = file.rowsUpTo === undefined && file.deletes?.upTo === undefined;
  return isNow && file.sizeBytes < movedBytesMax && positionCount < file.recordCount;
}

interface StageDeletes {
  /** The file to write. */
  readonly localPath: string;
  readonly localPaths: ReadonlyMap<string, string>;
  readonly asSnapshot: SnapshotId | undefined;
}

interface StagedDeletes {
  readonly file: DataFile;
  /** The number of rows newly deleted. */
  readonly deletedCount: number;
  /** Undefined when no row remains. */
  readonly written: WrittenFile | undefined;
  readonly hasRowSnapshots: boolean;
}

type Put = (path: string, localPath: string) => Promise<PutFile>;

function snapshotsOf(file: WrittenFile): { readonly min: SnapshotId; readonly max: SnapshotId } {
  const leaf = {
    fieldId: rowSnapshotColumn.fieldId,
    path: [rowSnapshotColumn.name],
    type: "int64",
  };
  const statistics = leafStatistics(file, leaf);
  assert(statistics?.nullCount === 0, "every row says its snapshot");
  return { min: Number(statistics.min) as SnapshotId, max: Number(statistics.max) as SnapshotId };
}

function notNullable(name: string): OperatingError {
  const message = `NOT NULL constraint failed: column ${quoteName(name)} would get a NULL`;
  return new OperatingError("bad_sql", "never", message);
}

/** Runs in order. After a failure none is started, and running ones are awaited. */
async function forEachAtMost<Item, Result>(
  max: number,
  items: readonly Item[],
  perform: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<number, Result>();
  const failures: unknown[] = [];
  const rest = items.entries();
  const runner = async (): Promise<void> => {
    for (const [at, item] of rest) {
      if (failures.length > 0) return;
      try {
        results.set(at, await perform(item));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, runner));
  if (failures.length > 0) throw failures[0];
  return items.map((_, at) => results.get(at) as Result);
}
