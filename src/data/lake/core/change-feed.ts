/**
 * The exact change of a table between two snapshots, by row ids. Applying it to the rows at `from`
 * gives the rows at `to`. Unchanged rows are never part of it, even where compaction moved them to
 * another file. An update is a removed row and an added row.
 */
import type { DataFile, DeleteFile, LakeTable, SnapshotId } from "./model.ts";

/** Positions of a data file: all, or those that one delete file has and another has not. */
export interface ChangedFile {
  /** The file with its deletes and `rowsUpTo` at `from` (rows removed) or at `to` (rows added). */
  readonly file: DataFile;
  /** Only rows after this snapshot count; undefined for all. Needs `hasRowSnapshots`. */
  readonly rowsAfter: SnapshotId | undefined;
  readonly rows: /** Those that the file's own `deletes` do not have. */
    | { readonly kind: "live" }
    /** Positions in `deletes` but not in `before`. Both may be one file with another `upTo`. */
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
  /** True when rows were only added, so that readers need not look for removed rows. */
  readonly isAppendOnly: boolean;
  /** Upper bounds of the number of rows that differ. */
  readonly removedMax: number;
  readonly addedMax: number;
}
