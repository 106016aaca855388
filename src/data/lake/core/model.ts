/**
 * What the lake is made of, as readers see it: tables of columns, whose rows are in Parquet files, at a snapshot. The
 * `ducklake_*` tables of the control store are the same in rows; `src/data/lake/store` translates.
 *
 *   LM1  Everything here is of one snapshot and never changes.
 *   LM2  Paths are relative to the lake's root, with forward slashes, and never contain `..`.
 */

/** Grows with every commit, by one unless it asks for more (`asSnapshot`). 0 is the empty lake. */
export type SnapshotId = number & { readonly __brand: "SnapshotId" };
export type TableId = number & { readonly __brand: "TableId" };
export type FileId = number & { readonly __brand: "FileId" };

export interface LakeColumn {
  /** The field id in the files: a renamed column keeps it, a new one of an old name gets another. */
  readonly columnId: number;
  readonly name: string;
  /** As DuckDB writes it: `DECIMAL(10,2)`, `TIMESTAMP`, `VARCHAR[]`. */
  readonly type: string;
  readonly nullable: boolean;
  /** For rows of files older than the column. A literal in DuckDB's words; `undefined`: NULL. */
  readonly initialDefault: string | undefined;
  /** For an INSERT that does not name the column. */
  readonly defaultValue: string | undefined;
}

export interface LakeTable {
  readonly tableId: TableId;
  readonly uuid: string;
  readonly schema: string;
  readonly name: string;
  /** Directory of its files. */
  readonly path: string;
  /** In order. */
  readonly columns: readonly LakeColumn[];
  /** Of the table's own definition: the snapshot that last changed its columns. */
  readonly schemaSnapshot: SnapshotId;
}

/** Rows that are no longer there, by their position in one data file. All of them: a newer file replaces an older one. */
export interface DeleteFile {
  readonly fileId: FileId;
  readonly path: string;
  readonly deleteCount: number;
  readonly sizeBytes: number;
  /** Of the whole file, as it was committed; absent: nobody knows it yet. */
  readonly crc32?: number;
  /** The scrub found other bytes than were committed. */
  readonly isDamaged?: boolean;
  readonly beginSnapshot: SnapshotId;
  /** The file has a third column that says for each position which snapshot deleted it. Without it: `beginSnapshot` did. */
  readonly hasRowSnapshots: boolean;
  /** Only positions that were deleted by then count; `undefined`: all. Only where `hasRowSnapshots`. */
  readonly upTo: SnapshotId | undefined;
}

export interface DataFile {
  readonly fileId: FileId;
  readonly path: string;
  /** Deleted ones included. */
  readonly recordCount: number;
  readonly sizeBytes: number;
  /** Of the whole file, as it was committed; absent: nobody knows it yet. */
  readonly crc32?: number;
  /** The scrub found other bytes than were committed. */
  readonly isDamaged?: boolean;
  readonly footerSize: number;
  readonly beginSnapshot: SnapshotId;
  /** The row at position p has id `rowIdStart + p`; `undefined`: the file says each row's id itself. */
  readonly rowIdStart: number | undefined;
  /** The file also says each row's snapshot: it was put together from files of several (compaction). */
  readonly hasRowSnapshots: boolean;
  /** Only rows that were there by then count; `undefined`: all. Only where `hasRowSnapshots`. */
  readonly rowsUpTo: SnapshotId | undefined;
  readonly deletes: DeleteFile | undefined;
}

/** A table at a snapshot: all that a reader needs. */
export interface TableVersion {
  readonly snapshot: SnapshotId;
  readonly table: LakeTable;
  readonly files: readonly DataFile[];
}

export interface SnapshotInfo {
  readonly snapshot: SnapshotId;
  /** By the database's clock. */
  readonly timeMs: number;
  readonly schemaVersion: number;
}
