/** DuckLake's own columns, which follow the table's in data files, with their field ids. */
export const rowIdColumn = { name: "_ducklake_internal_row_id", fieldId: 2_147_483_540 } as const;
export const rowSnapshotColumn = {
  name: "_ducklake_internal_snapshot_id",
  fieldId: 2_147_483_539,
} as const;
export const deletedPathColumn = { name: "file_path", fieldId: 2_147_483_646 } as const;
export const deletedPositionColumn = { name: "pos", fieldId: 2_147_483_645 } as const;
