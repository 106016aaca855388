/**
 * Decides what the lake's upkeep does now. Pure; `src/data/lake/store/upkeep.ts` carries it out.
 * Rules: LK30 to LK34.
 *
 * Merging keeps the order of rows, and every snapshot its rows. Files with earlier columns are
 * rewritten instead, because older snapshots still need the values of dropped columns. Small files
 * with deletes have no neighbours to merge with, so they are rewritten together.
 */
import type { FileId, SnapshotId, TableId } from "./model.ts";
import type { DataFileRow } from "./rows.ts";

export interface UpkeepLimits {
  readonly snapshotMsMax: number;
  readonly snapshotCountMax: number;
  readonly pinMsMax: number;
  /** Longer than any query runs. */
  readonly graceMs: number;
  /** Files below this size are small. */
  readonly smallBytes: number;
  /** The target size of merged files. */
  readonly targetBytes: number;
  readonly mergeFilesMin: number;
  readonly mergeFilesMax: number;
  /** The share of a file's rows that must be deleted before it is rewritten. */
  readonly rewriteDeletedShare: number;
  /** An unreferenced file is kept this long: longer than any write and any clock skew. */
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
  /** The snapshots in any order. */
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

/** A data file of the newest snapshot. */
export interface LiveFile {
  readonly row: DataFileRow;
  /** The number of deleted rows at the newest snapshot. */
  readonly deleteCount: number;
  /** Whether any snapshot has deletes of the file. */
  readonly hasDeletes: boolean;
  /** Whether the file was written with the table's current columns. */
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
    const isTogether = deletedFrom.length >= limits.mergeFilesMin; // Many small files with deletes.
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

/** Rewrites one file at a time, so that a part of a big table need not wait for the whole. */
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
  /** The current time by the database's clock. */
  readonly nowMs: number;
  /** Paths that a catalog row names, including those scheduled for deletion. */
  readonly referenced: ReadonlySet<string>;
  /** Tokens of commits whose files are being written. */
  readonly liveTokens: readonly string[];
}

/** Whether a file was never committed: unreferenced, old, and of no commit under way. */
export function isOrphan(
  facts: OrphanFacts,
  path: string,
  modifiedMs: number,
  { orphanMsMin }: Pick<UpkeepLimits, "orphanMsMin"> = upkeepLimitsDefault,
): boolean {
  if (facts.referenced.has(path) || facts.nowMs - modifiedMs < orphanMsMin) return false;
  return !facts.liveTokens.some((token) => path.includes(token));
}
