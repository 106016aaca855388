/**
 * What a commit says, before it has a snapshot. Files are written first, under names that nobody else has; then one store
 * transaction makes them part of the lake, or does not.
 *
 *   LC1  All or nothing: a commit that throws changed nothing, and its files belong to nobody.
 *   LC2  It is judged against what changed since `readSnapshot`: of two that cannot both hold, the second gets `conflict`
 *        (retry: backoff), and may be computed anew.
 *   LC3  The same `token` commits once: said again, it gives the snapshot of the first time. So an answer that was lost costs nothing.
 */
import type { FileId, LakeColumn, SnapshotId, TableId } from "./model.ts";

/** Statistics of one column of a file, values as DuckLake writes them. */
export interface ColumnStatistics {
  readonly columnId: number;
  readonly sizeBytes: number;
  readonly valueCount: number;
  readonly nullCount: number;
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly containsNan: boolean | undefined;
}

export interface NewDataFile {
  readonly path: string;
  readonly recordCount: number;
  readonly sizeBytes: number;
  /** Of the file as it was put (`ObjectStore.put`). Absent: upkeep finds out. */
  readonly crc32?: number;
  readonly footerSize: number;
  readonly columns: readonly ColumnStatistics[];
  /** Rows get fresh ids; `inFile`: the file carries them (updated rows keep theirs; compaction). */
  readonly rowIds: "fresh" | "inFile";
  /** Only of compaction: the oldest and newest snapshot that its rows are of. */
  readonly rowSnapshots?: { readonly min: SnapshotId; readonly max: SnapshotId };
}

export interface NewDeleteFile {
  readonly dataFileId: FileId;
  readonly path: string;
  /** All positions that are deleted now, those of the file that it replaces included. */
  readonly deleteCount: number;
  readonly sizeBytes: number;
  /** Of the file as it was put. */
  readonly crc32?: number;
  readonly footerSize: number;
  /**
   * The file says each position's snapshot: of those that it takes over what they had, of new ones the commit's
   * `asSnapshot`. It then replaces its predecessor, as DuckLake 1.0 has it. Without it the predecessor ends and this one
   * begins, which readers take as well, but DuckLake's own change feed over both repeats the older deletes.
   */
  readonly hasRowSnapshots?: boolean;
}

export interface NewColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly defaultValue: string | undefined;
}

export type TableChange =
  | {
      readonly kind: "createTable";
      readonly schema: string;
      readonly name: string;
      readonly columns: readonly NewColumn[];
      /** Directory of its files, below that of its schema (`tableDirectory`); otherwise that of its first file, or chosen. */
      readonly path?: string;
      /** Rows that it begins with. Statistics name columns by their position, from 1, as their ids will be. */
      readonly files: readonly NewDataFile[];
      /** Drops what has the name. Without it that is `already_exists`. */
      readonly orReplace: boolean;
    }
  | { readonly kind: "dropTable"; readonly tableId: TableId }
  | { readonly kind: "renameTable"; readonly tableId: TableId; readonly name: string }
  | {
      readonly kind: "addColumn";
      readonly tableId: TableId;
      readonly column: NewColumn;
      /** What rows that exist have there. A literal. */
      readonly initialDefault: string | undefined;
    }
  | { readonly kind: "dropColumn"; readonly tableId: TableId; readonly columnId: number }
  | {
      readonly kind: "renameColumn";
      readonly tableId: TableId;
      readonly columnId: number;
      readonly name: string;
    }
  /** INSERT, UPDATE and DELETE, and what a refresh publishes. */
  | {
      readonly kind: "changeRows";
      readonly tableId: TableId;
      readonly added: readonly NewDataFile[];
      readonly deletes: readonly NewDeleteFile[];
      /** Files that end whole: every row of them is deleted or rewritten. */
      readonly ended: readonly FileId[];
      /** The rows of `added` and the ended ones are the same rows: nothing changed for readers (compaction). */
      readonly isCompaction: boolean;
    };

export interface Commit {
  /** What its author had read when it computed this. */
  readonly readSnapshot: SnapshotId;
  /** Unique for ever: LC3. */
  readonly token: string;
  readonly changes: readonly TableChange[];
  /** Its snapshot, because its files name it; taken or passed by then: `conflict`. Without it the next one. */
  readonly asSnapshot?: SnapshotId;
  readonly author: string;
  readonly message: string;
}

export interface Committed {
  readonly snapshot: SnapshotId;
  /** Of `createTable`, in order. */
  readonly tableIds: readonly TableId[];
  readonly columns: readonly (readonly LakeColumn[])[];
}
