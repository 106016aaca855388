/** Rows of the catalog, and the snapshots at which they are visible. */

import type { SnapshotId } from "./model.ts";
import type { LakeTables } from "./tables.ts";

export type SnapshotRow = LakeTables["ducklake_snapshot"];
export type SchemaRow = LakeTables["ducklake_schema"];
export type TableRow = LakeTables["ducklake_table"];
export type ColumnRow = LakeTables["ducklake_column"];
export type DataFileRow = LakeTables["ducklake_data_file"];
export type DeleteFileRow = LakeTables["ducklake_delete_file"];
/** The file's checksum and the scrub's finding, from our own table. */
export interface ReadChecksum {
  readonly crc32?: number | null;
  readonly damage?: string | null;
}
export type ReadDataFileRow = DataFileRow & ReadChecksum;
export type ReadDeleteFileRow = DeleteFileRow & ReadChecksum;
export type FileStatsRow = LakeTables["ducklake_file_column_stats"];

interface Ranged {
  readonly begin_snapshot: number | null;
  readonly end_snapshot: number | null;
}

/** Whether a row is visible at a snapshot. */
export function isVisible(row: Ranged, snapshot: SnapshotId): boolean {
  return (
    (row.begin_snapshot ?? 0) <= snapshot &&
    (row.end_snapshot === null || snapshot < row.end_snapshot)
  );
}

/** The snapshot that wrote the delete file; `begin_snapshot` may be a predecessor's. */
export function writtenAt(row: DeleteFileRow): number {
  return row.partial_max ?? row.begin_snapshot;
}

/** Joins path parts: a relative part is below the one before it. */
export function joinPath(...parts: readonly { path: string; path_is_relative: number }[]): string {
  return parts.reduce((whole, part) => (part.path_is_relative === 0 ? "" : whole) + part.path, "");
}

/** Every row of every DuckLake table. */
export type LakeRows = {
  readonly [T in Extract<keyof LakeTables, `ducklake_${string}`>]: readonly LakeTables[T][];
};
