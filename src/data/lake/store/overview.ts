/** Tables with their sizes, for overviews that do not read the files. */
import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import type { LakeTable, SnapshotId } from "../core/model.ts";
import { readCurrent, readTables } from "./read-tables.ts";

export interface LakeTableOverview extends LakeTable {
  /** Without deleted rows. */
  readonly rowCount: number;
  /** The size of data files and delete files. */
  readonly sizeBytes: number;
  readonly fileCount: number;
  /** The commit that last changed its files or columns. */
  readonly changedSnapshot: SnapshotId;
}

export interface LakeOverview {
  readonly snapshot: SnapshotId;
  /** Sorted by schema and name. */
  readonly tables: readonly LakeTableOverview[];
}

interface SizeRow {
  readonly table_id: number;
  readonly row_count: number;
  readonly size_bytes: number;
  readonly file_count: number;
  readonly newest: number;
}

/** The store computes the sums, since a table may have very many files. */
export async function readLakeOverview(tx: Tx): Promise<LakeOverview> {
  const { snapshot } = await readCurrent(tx);
  const tables = await readTables(tx, undefined);
  const { rows } = await sql<SizeRow>`
    SELECT table_id,
           CAST(sum(row_count) AS BIGINT) AS row_count,
           CAST(sum(size_bytes) AS BIGINT) AS size_bytes,
           CAST(sum(file_count) AS BIGINT) AS file_count,
           max(newest) AS newest
      FROM (SELECT table_id, record_count AS row_count, file_size_bytes AS size_bytes, 1 AS file_count,
                   begin_snapshot AS newest
              FROM ducklake_data_file WHERE end_snapshot IS NULL
            UNION ALL
            SELECT table_id, -delete_count, file_size_bytes, 1, coalesce(partial_max, begin_snapshot)
              FROM ducklake_delete_file AS deleted
             WHERE end_snapshot IS NULL
               AND EXISTS (SELECT 1 FROM ducklake_data_file AS data
                            WHERE data.data_file_id = deleted.data_file_id AND data.end_snapshot IS NULL)
            UNION ALL
            SELECT table_id, 0, 0, 0, max(end_snapshot)
              FROM ducklake_data_file WHERE end_snapshot IS NOT NULL GROUP BY table_id) AS parts
     GROUP BY table_id`.execute(tx.db);
  const sizes = new Map(rows.map((row) => [row.table_id, row]));
  return {
    snapshot,
    tables: tables.map((table) => {
      const size = sizes.get(table.tableId);
      return {
        ...table,
        rowCount: size?.row_count ?? 0,
        sizeBytes: size?.size_bytes ?? 0,
        fileCount: size?.file_count ?? 0,
        changedSnapshot: Math.max(table.schemaSnapshot, size?.newest ?? 0) as SnapshotId,
      };
    }),
  };
}
