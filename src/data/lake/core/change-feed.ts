/**
 * The exact change of a table between two snapshots, by row ids. A row that is in both and is the same is not in it, wherever
 * its file is by now: compaction is invisible. An update is its image before and its image after.
 *
 *   CF1  Rows at `to` minus rows at `from`, as a set of (row id, values): applying it to `from` gives `to`.
 *   CF2  Only files that may differ are read: those added, ended, or with other deletes in between.
 */
import type { DataFile, DeleteFile, LakeTable, SnapshotId } from "./model.ts";

/** Positions of a data file: all, or those that one delete file has and another has not. */
export interface ChangedFile {
  /** As it was seen at `from` where rows are removed, at `to` where they are added: with its deletes and `rowsUpTo` of then. */
  readonly file: DataFile;
  /** Only rows that came after it count; `undefined`: all. Only where the file `hasRowSnapshots`. */
  readonly rowsAfter: SnapshotId | undefined;
  readonly rows: /** Those that the file's own `deletes` do not have. */
    | { readonly kind: "live" }
    /** Deleted by `deletes`, and not by `before` already. Both may be one file, with another `upTo`. */
    | {
        readonly kind: "deleted";
        readonly deletes: DeleteFile;
        readonly before: DeleteFile | undefined;
      };
}

export interface ChangeScan {
  readonly from: SnapshotId;
  readonly to: SnapshotId;
  /** Columns as they were at `from`, and as they are at `to`. */
  readonly before: LakeTable;
  readonly after: LakeTable;
  readonly sameColumns: boolean;
  /** Rows that were there at `from` and are not, or not the same, at `to`. */
  readonly removed: readonly ChangedFile[];
  /** Rows that are there at `to` and were not, or not the same, at `from`. */
  readonly added: readonly ChangedFile[];
  /** Only rows were added: nothing has to be looked for among the removed. */
  readonly isAppendOnly: boolean;
  /** At most so many rows differ, each way. */
  readonly removedMax: number;
  readonly addedMax: number;
}
