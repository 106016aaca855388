/** What a commit is planned from, and what the plan writes. */

import type {
  ColumnRow,
  DataFileRow,
  DeleteFileRow,
  FileStatsRow,
  SchemaRow,
  SnapshotRow,
  TableRow,
} from "./rows.ts";
import type { LakeTables } from "./tables.ts";

export type TableStatsRow = LakeTables["ducklake_table_stats"];
export type ColumnStatsRow = LakeTables["ducklake_table_column_stats"];

export interface TableFacts {
  readonly schema: SchemaRow;
  /** Its newest row. */
  readonly table: TableRow;
  /** All that it ever had. */
  readonly columns: readonly ColumnRow[];
  readonly stats: TableStatsRow | undefined;
  readonly columnStats: readonly ColumnStatsRow[];
  /** How many files it has now; only where a change of it ends some. */
  readonly liveFileCount: number;
  /** Statistics of its files now; only where it is rewritten, and not if there are too many. */
  readonly liveFileStats: readonly FileStatsRow[] | undefined;
}

export interface CommitFacts {
  /** The newest. */
  readonly head: SnapshotRow;
  /** Now, and not before the newest snapshot. */
  readonly timeMs: number;
  /** Those that are there. */
  readonly schemas: readonly SchemaRow[];
  /** Tables that the commit names by id, and those that have a name which it wants. */
  readonly tables: ReadonlyMap<number, TableFacts>;
  /** Files that it names: as they are, whether they have ended or not. */
  readonly files: ReadonlyMap<number, DataFileRow>;
  /** All delete files that those ever had, by data file. */
  readonly deletes: ReadonlyMap<number, readonly DeleteFileRow[]>;
  /** New, for a table. Not twice the same. */
  readonly createUuid: () => string;
}

/** Rows to insert, and what to do with those that are there. Ended ones end with the commit's snapshot. */
export interface CommitRows {
  readonly snapshots: LakeTables["ducklake_snapshot"][];
  readonly snapshotChanges: LakeTables["ducklake_snapshot_changes"][];
  readonly tables: TableRow[];
  readonly columns: ColumnRow[];
  readonly dataFiles: DataFileRow[];
  readonly fileStats: FileStatsRow[];
  readonly deleteFiles: DeleteFileRow[];
  /** Of new files, data and deletes. */
  readonly checksums: LakeTables["lake_file_checksums"][];
  readonly schemaVersions: LakeTables["ducklake_schema_versions"][];
  readonly scheduled: LakeTables["ducklake_files_scheduled_for_deletion"][];
  /** Table ids whose row of now ends; `isDrop`: with everything that they have. */
  readonly endedTables: { readonly tableId: number; readonly isDrop: boolean }[];
  readonly endedColumns: { readonly tableId: number; readonly columnIds: readonly number[] }[];
  readonly endedFiles: number[];
  readonly endedDeletes: number[];
  /** Data files that compaction replaced for all snapshots. */
  readonly removedFiles: number[];
  readonly removedDeletes: number[];
  /** `isNew`: there is no row yet. */
  readonly tableStats: { readonly row: TableStatsRow; readonly isNew: boolean }[];
  /** In place of those that the table has. */
  readonly columnStats: { readonly tableId: number; readonly rows: readonly ColumnStatsRow[] }[];
}
