/** Columns that are nobody's to name: those that rows have beside their own, and what dynamic tables keep for their next refresh. */
import type { LakeTable, TableVersion } from "./model.ts";

const reserved =
  /^_(row_id|file_id|position|row_snapshot|ducklake_internal_.*|(rid|key|branch|state)(_\d+)?)$/i;

export function isReservedColumn(name: string): boolean {
  return reserved.test(name);
}

/** As people see it. */
export function withoutHidden(version: TableVersion): TableVersion {
  const columns = visibleColumns(version.table);
  if (columns.length === version.table.columns.length) return version;
  return { ...version, table: { ...version.table, columns } };
}

export function visibleColumns({ columns }: LakeTable): LakeTable["columns"] {
  return columns.filter(({ name }) => !isReservedColumn(name));
}
