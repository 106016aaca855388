/**
 * The lake as readers see it: tables with columns, whose rows are in Parquet files, at one
 * snapshot. Immutable. The `ducklake_*` tables of the control store hold the same as rows;
 * `src/data/lake/store` translates. Paths are relative to the lake's root, with forward slashes,
 * and never contain `..`.
 */

/** Increases with every commit, by one unless `asSnapshot` asks for more. 0 is the empty lake. */
export type SnapshotId = number & { readonly __brand: "SnapshotId" };
export type TableId = number & { readonly __brand: "TableId" };
export type FileId = number & { readonly __brand: "FileId" };

export interface LakeColumn {
  /** The field id in the files. A renamed column keeps it; ids are never used again. */
  readonly columnId: number;
  readonly name: string;
  /** The type in DuckDB's notation: `DECIMAL(10,2)`, `TIMESTAMP`, `VARCHAR[]`. */
  readonly type: string;
  readonly nullable: boolean;
  /** The value in files older than the column: a literal; undefined for NULL. */
  readonly initialDefault: string | undefined;
  /** The value when an INSERT does not name the column. */
  readonly defaultValue: string | undefined;
}

export interface LakeTable {
  readonly tableId: TableId;
  readonly uuid: string;
  readonly schema: string;
  readonly name: string;
  /** The directory of its files. */
  readonly path: string;
  /** The columns in the table's order. */
  readonly columns: readonly LakeColumn[];
  /** The snapshot that last changed the table's columns. */
  readonly schemaSnapshot: SnapshotId;
}

/** All deleted positions of one data file. A newer delete file replaces an older one. */
export interface DeleteFile {
  readonly fileId: FileId;
  readonly path: string;
  readonly deleteCount: number;
  readonly sizeBytes: number;
  /** The checksum of the whole file as committed; absent while unknown. */
  readonly crc32?: number;
  /** Set when the scrub found bytes other than those committed. */
  readonly isDamaged?: boolean;
  readonly beginSnapshot: SnapshotId;
  /** A third column says which snapshot deleted each position; else `beginSnapshot` did. */
  readonly hasRowSnapshots: boolean;
  /** Only deletes up to this snapshot count; undefined for all. Needs `hasRowSnapshots`. */
  readonly upTo: SnapshotId | undefined;
}

export interface DataFile {
  readonly fileId: FileId;
  readonly path: string;
  /** Deleted rows included. */
  readonly recordCount: number;
  readonly sizeBytes: number;
  /** The checksum of the whole file as committed; absent while unknown. */
  readonly crc32?: number;
  /** Set when the scrub found bytes other than those committed. */
  readonly isDamaged?: boolean;
  readonly footerSize: number;
  readonly beginSnapshot: SnapshotId;
  /** The row at position p has id `rowIdStart + p`. Undefined: the file carries ids. */
  readonly rowIdStart: number | undefined;
  /** The file carries each row's snapshot, because compaction merged several. */
  readonly hasRowSnapshots: boolean;
  /** Only rows up to this snapshot count; undefined for all. Needs `hasRowSnapshots`. */
  readonly rowsUpTo: SnapshotId | undefined;
  readonly deletes: DeleteFile | undefined;
}

/** A table at a snapshot: everything that a reader needs. */
export interface TableVersion {
  readonly snapshot: SnapshotId;
  readonly table: LakeTable;
  readonly files: readonly DataFile[];
}

export interface SnapshotInfo {
  readonly snapshot: SnapshotId;
  /** The time of the commit by the database's clock. */
  readonly timeMs: number;
  readonly schemaVersion: number;
}
