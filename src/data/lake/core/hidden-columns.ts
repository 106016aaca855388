/** Columns that statements cannot name: row ids, and the state of dynamic tables. */
import type { LakeTable, TableVersion } from "./model.ts";

const reserved =
  /^_(row_id|file_id|position|row_snapshot|ducklake_internal_.*|(rid|key|branch|state)(_\d+)?)$/i;

export function isReservedColumn(name: string): boolean {
  return reserved.test(name);
}

/** The version without hidden columns. */
export function withoutHidden(version: TableVersion): TableVersion {
  const columns = visibleColumns(version.table);
  if (columns.length === version.table.columns.length) return version;
  return { ...version, table: { ...version.table, columns } };
}

export function visibleColumns({ columns }: LakeTable): LakeTable["columns"] {
  return columns.filter(({ name }) => !isReservedColumn(name));
}
