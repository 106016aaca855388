/** Builds table versions, and the columns of each file, from the catalog's rows. Pure. */
import type { LakeColumn, SnapshotId, TableVersion } from "./model.ts";
import { isVisible, type LakeRows } from "./rows.ts";
import { columnsAt, filesAt, tableAt } from "./table-version.ts";

/** Every table at the newest snapshot. */
export function currentVersions(rows: LakeRows): readonly TableVersion[] {
  const snapshot = Math.max(...rows.ducklake_snapshot.map((row) => row.snapshot_id)) as SnapshotId;
  const schemas = new Map(rows.ducklake_schema.map((row) => [row.schema_id, row]));
  const columns = Map.groupBy(rows.ducklake_column, (row) => row.table_id);
  const files = Map.groupBy(rows.ducklake_data_file, (row) => row.table_id);
  const deletes = Map.groupBy(rows.ducklake_delete_file, (row) => row.table_id);
  return rows.ducklake_table.flatMap((row) => {
    const schema = schemas.get(row.schema_id);
    if (schema === undefined || !isVisible(row, snapshot)) return [];
    const own = columns.get(row.table_id) ?? [];
    const table = tableAt({ schema, table: row, columns: own }, snapshot);
    const [data, gone] = [files.get(row.table_id) ?? [], deletes.get(row.table_id) ?? []];
    return [{ snapshot, table, files: filesAt(table.path, data, gone, snapshot) }];
  });
}

/** For a data file, its table's columns when it was written. */
export function columnsOfFiles(rows: LakeRows): (fileId: number) => readonly LakeColumn[] {
  const columns = Map.groupBy(rows.ducklake_column, (row) => row.table_id);
  const files = new Map(rows.ducklake_data_file.map((row) => [row.data_file_id, row]));
  const known = new Map<string, readonly LakeColumn[]>();
  return (fileId) => {
    const file = files.get(fileId);
    if (file === undefined) return [];
    const key = `${file.table_id}.${file.begin_snapshot}`;
    const found =
      known.get(key) ??
      columnsAt(columns.get(file.table_id) ?? [], file.begin_snapshot as SnapshotId);
    known.set(key, found);
    return found;
  };
}
