/** The facts that a commit is planned from, and the rows that the plan writes. */

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
  /** The table's newest row. */
  readonly table: TableRow;
  /** All columns that the table ever had. */
  readonly columns: readonly ColumnRow[];
  readonly stats: TableStatsRow | undefined;
  readonly columnStats: readonly ColumnStatsRow[];
  /** The number of current files; read only where a change ends some. */
  readonly liveFileCount: number;
  /** Statistics of the current files; read only for a rewrite, and not if there are too many. */
  readonly liveFileStats: readonly FileStatsRow[] | undefined;
}

export interface CommitFacts {
  /** The newest snapshot. */
  readonly head: SnapshotRow;
  /** The current time, never before the newest snapshot's. */
  readonly timeMs: number;
  /** The current schemas. */
  readonly schemas: readonly SchemaRow[];
  /** Tables that the commit names by id, and tables that hold a name it wants. */
  readonly tables: ReadonlyMap<number, TableFacts>;
  /** Files that the commit names, ended ones included. */
  readonly files: ReadonlyMap<number, DataFileRow>;
  /** All delete files that those files ever had, by data file. */
  readonly deletes: ReadonlyMap<number, readonly DeleteFileRow[]>;
  /** Gives a new table's UUID, a different one each time. */
  readonly createUuid: () => string;
}

/** Rows to insert, and rows to change. Ended rows end with the commit's snapshot. */
export interface CommitRows {
  readonly snapshots: LakeTables["ducklake_snapshot"][];
  readonly snapshotChanges: LakeTables["ducklake_snapshot_changes"][];
  readonly tables: TableRow[];
  readonly columns: ColumnRow[];
  readonly dataFiles: DataFileRow[];
  readonly fileStats: FileStatsRow[];
  readonly deleteFiles: DeleteFileRow[];
  /** Checksums of new data and delete files. */
  readonly checksums: LakeTables["lake_file_checksums"][];
  readonly schemaVersions: LakeTables["ducklake_schema_versions"][];
  readonly scheduled: LakeTables["ducklake_files_scheduled_for_deletion"][];
  /** Tables whose current row ends. With `isDrop` their columns and files end too. */
  readonly endedTables: { readonly tableId: number; readonly isDrop: boolean }[];
  readonly endedColumns: { readonly tableId: number; readonly columnIds: readonly number[] }[];
  readonly endedFiles: number[];
  readonly endedDeletes: number[];
  /** Data files that compaction replaced for all snapshots. */
  readonly removedFiles: number[];
  readonly removedDeletes: number[];
  /** `isNew` when the table has no such row yet. */
  readonly tableStats: { readonly row: TableStatsRow; readonly isNew: boolean }[];
  /** Replaces all column statistics of the table. */
  readonly columnStats: { readonly tableId: number; readonly rows: readonly ColumnStatsRow[] }[];
}
