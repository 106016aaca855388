/**
 * What the lake's upkeep should do now. Pure; `src/data/lake/store/upkeep.ts` carries it out.
 *
 *   1  The newest snapshot never expires, nor one that a cursor has pinned for less than `pinMsMax`. Of the others those
 *      expire that are older than `snapshotMsMax`, or not among the newest `snapshotCountMax`.
 *   2  A file that is scheduled for deletion is deleted once every query that may have listed it is over: `graceMs`.
 *   3  Neighbours are merged where several small ones of a table follow each other, none with deletes. Rows keep their
 *      order, and every snapshot its rows. Files with columns of an earlier time are rewritten together instead, because
 *      what a column had that was dropped is still there for older snapshots.
 *   4  A file of which a good part is deleted is rewritten without that part.
 *   5  Where many small files of a table have deletes, its small files are rewritten together: they would be neighbours of no
 *      one, and there would be ever more of them.
 */
import type { FileId, SnapshotId, TableId } from "./model.ts";
import type { DataFileRow } from "./rows.ts";

export interface UpkeepLimits {
  readonly snapshotMsMax: number;
  readonly snapshotCountMax: number;
  readonly pinMsMax: number;
  /** Longer than any query runs. */
  readonly graceMs: number;
  /** Files below it are small. */
  readonly smallBytes: number;
  /** What merged files come to. */
  readonly targetBytes: number;
  readonly mergeFilesMin: number;
  readonly mergeFilesMax: number;
  /** Of the rows of a file. */
  readonly rewriteDeletedShare: number;
  /** A file that nobody refers to is left alone for so long: no write takes longer, nor do the clocks differ by as much. */
  readonly orphanMsMin: number;
}

const hourMs = 3_600_000;
const mebibyte = 1_048_576;

export const upkeepLimitsDefault: UpkeepLimits = {
  snapshotMsMax: 7 * 24 * hourMs,
  snapshotCountMax: 10_000,
  pinMsMax: 14 * 24 * hourMs,
  graceMs: 2 * hourMs,
  smallBytes: 16 * mebibyte,
  targetBytes: 128 * mebibyte,
  mergeFilesMin: 8,
  mergeFilesMax: 200,
  rewriteDeletedShare: 0.3,
  orphanMsMin: 24 * hourMs,
};

export interface UpkeepFacts {
  readonly nowMs: number;
  /** In any order. */
  readonly snapshots: readonly { readonly snapshot: SnapshotId; readonly timeMs: number }[];
  readonly pins: readonly { readonly snapshot: SnapshotId; readonly pinnedAtMs: number }[];
  readonly scheduled: readonly ScheduledFile[];
  readonly files: readonly LiveFile[];
}

export interface ScheduledFile {
  readonly fileId: FileId;
  readonly path: string;
  readonly sinceMs: number;
}

/** A data file that the newest snapshot has. */
export interface LiveFile {
  readonly row: DataFileRow;
  /** 0: none. */
  readonly deleteCount: number;
  /** Whether any snapshot has deletes of it. */
  readonly hasDeletes: boolean;
  /** Written with the columns that its table has now. */
  readonly hasCurrentColumns: boolean;
}

export interface UpkeepDecision {
  readonly expire: readonly SnapshotId[];
  readonly delete: readonly ScheduledFile[];
  readonly merge: readonly Compaction[];
  readonly rewrite: readonly Compaction[];
}

export interface Compaction {
  readonly tableId: TableId;
  readonly fileIds: readonly FileId[];
}

export function decideLakeUpkeep(facts: UpkeepFacts, limits: UpkeepLimits): UpkeepDecision {
  const runs = smallRuns(facts.files, limits);
  return {
    expire: decideExpiry(facts, limits),
    delete: facts.scheduled.filter(({ sinceMs }) => facts.nowMs - sinceMs >= limits.graceMs),
    merge: runs.filter(isMerge).map(compactionOf),
    rewrite: [
      ...decideRewrites(facts.files, limits, new Set(runs.flat())),
      ...runs.filter((run) => !isMerge(run)).map(compactionOf),
    ],
  };
}

function isMerge(run: readonly LiveFile[]): boolean {
  return run.every(({ hasCurrentColumns, hasDeletes }) => hasCurrentColumns && !hasDeletes);
}

function decideExpiry({ nowMs, snapshots, pins }: UpkeepFacts, limits: UpkeepLimits): SnapshotId[] {
  const pinned = new Set(
    pins.filter((pin) => nowMs - pin.pinnedAtMs < limits.pinMsMax).map((pin) => pin.snapshot),
  );
  return [...snapshots]
    .sort((a, b) => b.snapshot - a.snapshot)
    .filter(({ snapshot, timeMs }, index) => {
      if (index === 0 || pinned.has(snapshot)) return false;
      return nowMs - timeMs > limits.snapshotMsMax || index >= limits.snapshotCountMax;
    })
    .map(({ snapshot }) => snapshot)
    .reverse();
}

function smallRuns(files: readonly LiveFile[], limits: UpkeepLimits): readonly LiveFile[][] {
  const runs: LiveFile[][] = [];
  for (const own of Map.groupBy(files, ({ row }) => row.table_id).values()) {
    const deletedFrom = own.filter((file) => file.deleteCount > 0 && isSmall(file, limits));
    const isTogether = deletedFrom.length >= limits.mergeFilesMin; // 5
    let run: LiveFile[] = [];
    const close = (): void => {
      if (run.length >= limits.mergeFilesMin) runs.push(run);
      run = [];
    };
    for (const file of [...own].sort((a, b) => order(a.row, b.row))) {
      if (!isSmall(file, limits) || (file.hasDeletes && !isTogether)) {
        close();
        continue;
      }
      const [first] = run;
      const isOther =
        !isTogether && first !== undefined && first.hasCurrentColumns !== file.hasCurrentColumns;
      const size = run.reduce((total, { row }) => total + row.file_size_bytes, 0);
      const isFull = size + file.row.file_size_bytes > limits.targetBytes;
      if (isOther || isFull || run.length >= limits.mergeFilesMax) close();
      run.push(file);
    }
    close();
  }
  return runs;
}

function compactionOf(run: readonly LiveFile[]): Compaction {
  return {
    tableId: run[0]?.row.table_id as TableId,
    fileIds: run.map(({ row }) => row.data_file_id as FileId),
  };
}

function isSmall({ row }: LiveFile, limits: UpkeepLimits): boolean {
  const isPlain =
    row.partition_id === null && row.mapping_id === null && row.encryption_key === null;
  return isPlain && row.file_size_bytes < limits.smallBytes;
}

function order(a: DataFileRow, b: DataFileRow): number {
  return a.begin_snapshot - b.begin_snapshot || a.data_file_id - b.data_file_id;
}

/** One file at a time: rewriting a part of a big table should not wait for the whole of it. */
function decideRewrites(
  files: readonly LiveFile[],
  limits: UpkeepLimits,
  others: ReadonlySet<LiveFile>,
): Compaction[] {
  return files
    .filter((file) => {
      const { row, deleteCount } = file;
      if (others.has(file)) return false;
      return deleteCount > 0 && deleteCount / row.record_count >= limits.rewriteDeletedShare;
    })
    .map((file) => compactionOf([file]));
}

export interface OrphanFacts {
  /** By the database's clock. */
  readonly nowMs: number;
  /** Paths that some row of the catalog names, scheduled ones too. */
  readonly referenced: ReadonlySet<string>;
  /** Tokens of commits whose files are being written. */
  readonly liveTokens: readonly string[];
}

/** Whether a file was written and never committed: nobody refers to it, it is old, and nobody is at work on it. */
export function isOrphan(
  facts: OrphanFacts,
  path: string,
  modifiedMs: number,
  { orphanMsMin }: Pick<UpkeepLimits, "orphanMsMin"> = upkeepLimitsDefault,
): boolean {
  if (facts.referenced.has(path) || facts.nowMs - modifiedMs < orphanMsMin) return false;
  return !facts.liveTokens.some((token) => path.includes(token));
}
