/** Checksums of the lake's files in the store, and the scrub's findings. */
import { sql } from "kysely";
import type { Store, Tx } from "../../../ground/store/index.ts";
import { joinPath } from "../core/rows.ts";
import { readDirectories } from "./upkeep.ts";

/** A file that some snapshot needs. */
export interface ChecksummedFile {
  readonly fileId: number;
  readonly path: string;
  /** The file's table, for messages. */
  readonly table: string;
  readonly sizeBytes: number;
  /** Undefined while unknown. */
  readonly crc32: number | undefined;
  readonly checkedAtMs: number | undefined;
  readonly damage: string | undefined;
}

export interface Scrubbed {
  readonly fileId: number;
  readonly crc32: number;
  readonly damage: string | undefined;
}

export async function readChecksummedFiles(
  tx: Tx,
): Promise<{ readonly nowMs: number; readonly files: readonly ChecksummedFile[] }> {
  const { db } = tx;
  const directories = await readDirectories(tx);
  const names = new Map(
    (await db.selectFrom("ducklake_table").select(["table_id", "table_name"]).execute()).map(
      (row) => [row.table_id, row.table_name],
    ),
  );
  const data = await db
    .selectFrom("ducklake_data_file")
    .leftJoin("lake_file_checksums", "file_id", "data_file_id")
    .select(["data_file_id as id", "table_id", "path", "path_is_relative", "file_size_bytes"])
    .select(["crc32", "checked_at_ms", "damage"])
    .execute();
  const deletes = await db
    .selectFrom("ducklake_delete_file")
    .leftJoin("lake_file_checksums", "file_id", "delete_file_id")
    .select(["delete_file_id as id", "table_id", "path", "path_is_relative", "file_size_bytes"])
    .select(["crc32", "checked_at_ms", "damage"])
    .execute();
  const files = [...data, ...deletes].map((row) => ({
    fileId: row.id,
    path: joinPath({ path: directories.get(row.table_id) ?? "", path_is_relative: 1 }, row),
    table: names.get(row.table_id) ?? `${row.table_id}`,
    sizeBytes: row.file_size_bytes,
    crc32: row.crc32 ?? undefined,
    checkedAtMs: row.checked_at_ms ?? undefined,
    damage: row.damage ?? undefined,
  }));
  const [clock] = (await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db)).rows;
  return { nowMs: clock?.now ?? 0, files };
}

/**
 * Stores the checksum of a file that has none. For other files, only when it was read and the
 * finding.
 */
export async function keepScrubbed(store: Store, scrubbed: readonly Scrubbed[]): Promise<void> {
  if (scrubbed.length === 0) return;
  await store.transaction(async ({ db }) => {
    for (const { fileId, crc32, damage } of scrubbed) {
      const found = { checked_at_ms: sql<number>`now_ms()`, damage: damage ?? null };
      await db
        .insertInto("lake_file_checksums")
        .values({ file_id: fileId, crc32, ...found })
        .onConflict((conflict) => conflict.column("file_id").doUpdateSet(found))
        .execute();
    }
  });
}

/** Deletes checksums of files that another writer removed from the catalog. */
export async function forgetChecksums(store: Store): Promise<void> {
  await store.transaction(async ({ db }) => {
    await sql`
      DELETE FROM lake_file_checksums
       WHERE NOT EXISTS (SELECT 1 FROM ducklake_data_file WHERE data_file_id = file_id)
         AND NOT EXISTS (SELECT 1 FROM ducklake_delete_file WHERE delete_file_id = file_id)`.execute(
      db,
    );
  });
}
