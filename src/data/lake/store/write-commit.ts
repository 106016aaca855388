/** Writes a planned commit, with a statement per table that it touches or per thousand rows. */
import type { Tx } from "../../../ground/store/index.ts";
import type { CommitRows } from "../core/commit-rows.ts";
import type { SnapshotId } from "../core/model.ts";
import { eachIds, eachRows } from "./statements.ts";

export async function writeCommit(tx: Tx, rows: CommitRows, snapshot: SnapshotId): Promise<void> {
  const { db } = tx;
  await endWhatEnds(tx, rows, snapshot);
  await removeWhatGoes(tx, rows);
  // A concurrent commit fails here, before anything else is written.
  await db.insertInto("ducklake_snapshot").values(rows.snapshots).execute();
  await db.insertInto("ducklake_snapshot_changes").values(rows.snapshotChanges).execute();
  await eachRows(rows.tables, (chunk) => db.insertInto("ducklake_table").values(chunk).execute());
  await eachRows(rows.columns, (chunk) => db.insertInto("ducklake_column").values(chunk).execute());
  await eachRows(rows.schemaVersions, (chunk) =>
    db.insertInto("ducklake_schema_versions").values(chunk).execute(),
  );
  await eachRows(rows.dataFiles, (chunk) =>
    db.insertInto("ducklake_data_file").values(chunk).execute(),
  );
  await eachRows(rows.fileStats, (chunk) =>
    db.insertInto("ducklake_file_column_stats").values(chunk).execute(),
  );
  await eachRows(rows.deleteFiles, (chunk) =>
    db.insertInto("ducklake_delete_file").values(chunk).execute(),
  );
  await eachRows(rows.checksums, (chunk) =>
    db.insertInto("lake_file_checksums").values(chunk).execute(),
  );
  await eachRows(rows.scheduled, (chunk) =>
    db.insertInto("ducklake_files_scheduled_for_deletion").values(chunk).execute(),
  );
  await writeStatistics(tx, rows);
}

async function writeStatistics({ db }: Tx, rows: CommitRows): Promise<void> {
  for (const { row, isNew } of rows.tableStats) {
    if (isNew) await db.insertInto("ducklake_table_stats").values(row).execute();
    else {
      const { table_id, ...figures } = row;
      await db
        .updateTable("ducklake_table_stats")
        .set(figures)
        .where("table_id", "=", table_id)
        .execute();
    }
  }
  for (const { tableId, rows: columns } of rows.columnStats) {
    await db.deleteFrom("ducklake_table_column_stats").where("table_id", "=", tableId).execute();
    await eachRows(columns, (chunk) =>
      db.insertInto("ducklake_table_column_stats").values(chunk).execute(),
    );
  }
}

async function endWhatEnds({ db }: Tx, rows: CommitRows, snapshot: SnapshotId): Promise<void> {
  const end = { end_snapshot: snapshot };
  for (const { tableId, isDrop } of rows.endedTables) {
    await db
      .updateTable("ducklake_table")
      .set(end)
      .where("table_id", "=", tableId)
      .where("end_snapshot", "is", null)
      .execute();
    if (!isDrop) continue;
    for (const table of droppedWithTable) {
      await db
        .updateTable(table)
        .set(end)
        .where("table_id", "=", tableId)
        .where("end_snapshot", "is", null)
        .execute();
    }
    await db
      .updateTable("ducklake_tag")
      .set(end)
      .where("object_id", "=", tableId)
      .where("end_snapshot", "is", null)
      .execute();
  }
  for (const { tableId, columnIds } of rows.endedColumns) {
    await db
      .updateTable("ducklake_column")
      .set(end)
      .where("table_id", "=", tableId)
      .where("column_id", "in", columnIds)
      .where("end_snapshot", "is", null)
      .execute();
  }
  await eachIds(rows.endedFiles, (ids) =>
    db.updateTable("ducklake_data_file").set(end).where("data_file_id", "in", ids).execute(),
  );
  await eachIds(rows.endedDeletes, (ids) =>
    db.updateTable("ducklake_delete_file").set(end).where("delete_file_id", "in", ids).execute(),
  );
}

const droppedWithTable = [
  "ducklake_column",
  "ducklake_data_file",
  "ducklake_delete_file",
  "ducklake_column_tag",
  "ducklake_partition_info",
  "ducklake_sort_info",
] as const;

async function removeWhatGoes(tx: Tx, rows: CommitRows): Promise<void> {
  await removeDataFiles(tx, rows.removedFiles);
  await removeDeleteFiles(tx, rows.removedDeletes);
}

export async function removeDeleteFiles({ db }: Tx, fileIds: readonly number[]): Promise<void> {
  await eachIds(fileIds, async (ids) => {
    await db.deleteFrom("ducklake_delete_file").where("delete_file_id", "in", ids).execute();
    await db.deleteFrom("lake_file_checksums").where("file_id", "in", ids).execute();
  });
}

/** Deletes data files with everything known of them. */
export async function removeDataFiles({ db }: Tx, fileIds: readonly number[]): Promise<void> {
  await eachIds(fileIds, async (ids) => {
    await db
      .deleteFrom("lake_file_checksums")
      .where((eb) =>
        eb.or([
          eb("file_id", "in", ids),
          eb(
            "file_id",
            "in",
            eb
              .selectFrom("ducklake_delete_file")
              .select("delete_file_id")
              .where("data_file_id", "in", ids),
          ),
        ]),
      )
      .execute();
    for (const table of ofDataFile) {
      await db.deleteFrom(table).where("data_file_id", "in", ids).execute();
    }
  });
}

const ofDataFile = [
  "ducklake_file_column_stats",
  "ducklake_file_variant_stats",
  "ducklake_file_partition_value",
  "ducklake_delete_file",
  "ducklake_data_file",
] as const;
