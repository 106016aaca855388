/**
 * A commit before it has a snapshot. Its author first writes files under unique names; then one
 * store transaction makes them part of the lake. A commit that throws changed nothing.
 *
 * Conflicts are judged against changes since `readSnapshot`: the second of two incompatible commits
 * gets `conflict` (retry: backoff) and may be computed anew. A `token` commits once: repeating it
 * returns the first snapshot, so that a lost answer does no harm. Rules: LK5 to LK9.
 */
import type { FileId, LakeColumn, SnapshotId, TableId } from "./model.ts";

/** Statistics of one column of a file, with values in DuckLake's notation. */
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
  /** The file's checksum as `ObjectStore.put` returned it. Absent when upkeep has to compute it. */
  readonly crc32?: number;
  readonly footerSize: number;
  readonly columns: readonly ColumnStatistics[];
  /** `fresh`: rows get new ids. `inFile`: the file carries them (updates, compaction). */
  readonly rowIds: "fresh" | "inFile";
  /** The oldest and newest snapshot of the file's rows; only for compaction. */
  readonly rowSnapshots?: { readonly min: SnapshotId; readonly max: SnapshotId };
}

export interface NewDeleteFile {
  readonly dataFileId: FileId;
  readonly path: string;
  /** All deleted positions, including those of the file that this one replaces. */
  readonly deleteCount: number;
  readonly sizeBytes: number;
  /** The file's checksum as `ObjectStore.put` returned it. */
  readonly crc32?: number;
  readonly footerSize: number;
  /**
   * The file says which snapshot deleted each position: earlier ones keep theirs, new ones get the
   * commit's `asSnapshot`. It then replaces its predecessor, as DuckLake 1.0 does. Otherwise the
   * predecessor ends; readers accept that, but DuckLake's own change feed over both repeats the
   * older deletes.
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
      /** Its directory below its schema's. Default: that of its first file, or a new one. */
      readonly path?: string;
      /** The first rows. Statistics name columns by position from 1, their future ids. */
      readonly files: readonly NewDataFile[];
      /** Drops a table of that name. Otherwise such a table is an `already_exists` error. */
      readonly orReplace: boolean;
    }
  | { readonly kind: "dropTable"; readonly tableId: TableId }
  | { readonly kind: "renameTable"; readonly tableId: TableId; readonly name: string }
  | {
      readonly kind: "addColumn";
      readonly tableId: TableId;
      readonly column: NewColumn;
      /** The value of the column in existing rows: a literal. */
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
      /** Files that end because every row of them is deleted or rewritten. */
      readonly ended: readonly FileId[];
      /** `added` holds the same rows as the ended files, so that nothing changes for readers. */
      readonly isCompaction: boolean;
    };

export interface Commit {
  /** The snapshot that the author read to compute this. */
  readonly readSnapshot: SnapshotId;
  /** Unique for ever. */
  readonly token: string;
  readonly changes: readonly TableChange[];
  /** The snapshot that its files name; `conflict` if it is taken. Default: the next. */
  readonly asSnapshot?: SnapshotId;
  readonly author: string;
  readonly message: string;
}

export interface Committed {
  readonly snapshot: SnapshotId;
  /** The tables that `createTable` made, in order. */
  readonly tableIds: readonly TableId[];
  readonly columns: readonly (readonly LakeColumn[])[];
}
