/** Columns that DuckLake has in files besides a table's own, by their field ids. Trailing in data files. */
export const rowIdColumn = { name: "_ducklake_internal_row_id", fieldId: 2_147_483_540 } as const;
export const rowSnapshotColumn = {
  name: "_ducklake_internal_snapshot_id",
  fieldId: 2_147_483_539,
} as const;
export const deletedPathColumn = { name: "file_path", fieldId: 2_147_483_646 } as const;
export const deletedPositionColumn = { name: "pos", fieldId: 2_147_483_645 } as const;
