/**
 * The catalog's part of upkeep: facts for `decideLakeUpkeep`, expiry, and the list of files to
 * delete. Compaction is an ordinary commit. The caller deletes files between `facts` and `forget`;
 * deleting one twice does no harm.
 */
import { sql } from "kysely";
import { assert } from "../../../ground/kernel/errors.ts";
import { isHeld, type Store, type Tx } from "../../../ground/store/index.ts";
import type { LiveFile, OrphanFacts, ScheduledFile, UpkeepFacts } from "../core/decide-upkeep.ts";
import type { FileId, SnapshotId } from "../core/model.ts";
import { joinPath } from "../core/rows.ts";
import { formatSnapshotTime, parseSnapshotTime } from "../core/snapshot-time.ts";
import { readSchemas } from "./read-commit-facts.ts";
import { eachIds, eachRows } from "./statements.ts";
import { removeDataFiles, removeDeleteFiles } from "./write-commit.ts";

export interface Expired {
  readonly snapshots: number;
  /** Files that no snapshot needs any longer, now scheduled for deletion. */
  readonly files: number;
  readonly tables: number;
}

export class LakeUpkeep {
  readonly #store: Store;

  constructor({ store }: { readonly store: Store }) {
    this.#store = store;
  }

  facts(): Promise<UpkeepFacts> {
    return this.#store.read(readUpkeepFacts);
  }

  /** Expires snapshots with everything only they need, except pinned ones and the newest. */
  expire(snapshots: readonly SnapshotId[], pinMsMax: number): Promise<Expired> {
    return this.#store.catalogTransaction((tx) => expireSnapshots(tx, snapshots, pinMsMax));
  }

  /** Forgets files that the caller has deleted. */
  async forget(fileIds: readonly FileId[]): Promise<void> {
    await this.#store.catalogTransaction(async ({ db }) => {
      await eachIds(fileIds, (ids) =>
        db
          .deleteFrom("ducklake_files_scheduled_for_deletion")
          .where("data_file_id", "in", ids)
          .execute(),
      );
    });
  }

  /** Deletes tokens that are too old to be repeated. */
  async forgetTokens(): Promise<void> {
    await this.#store.catalogTransaction(async ({ db }) => {
      await db
        .deleteFrom("lake_commit_tokens")
        .where("expires_at_ms", "<", sql<number>`now_ms()`)
        .execute();
    });
  }

  /** Whether somebody holds files (`upkeep_holds`), so that none may be deleted now. */
  isHeld(): Promise<boolean> {
    return isHeld(this.#store);
  }

  /** Facts for `isOrphan`. List the files first, or those committed meanwhile look like orphans. */
  orphanFacts(): Promise<OrphanFacts> {
    return this.#store.read(readOrphanFacts);
  }
}

async function readUpkeepFacts(tx: Tx): Promise<UpkeepFacts> {
  const { db } = tx;
  const snapshots = await db
    .selectFrom("ducklake_snapshot")
    .select(["snapshot_id", "snapshot_time"])
    .execute();
  const pins = await db.selectFrom("lake_pins").selectAll().execute();
  const scheduled = await db
    .selectFrom("ducklake_files_scheduled_for_deletion")
    .selectAll()
    .execute();
  return {
    nowMs: await readNow(tx),
    snapshots: snapshots.map((row) => ({
      snapshot: row.snapshot_id as SnapshotId,
      timeMs: timeOf(row.snapshot_time),
    })),
    pins: pins.map((row) => ({
      snapshot: row.snapshot_id as SnapshotId,
      pinnedAtMs: row.pinned_at_ms,
    })),
    scheduled: scheduled.map(
      (row): ScheduledFile => ({
        fileId: row.data_file_id as FileId,
        path: row.path,
        sinceMs: timeOf(row.schedule_start),
      }),
    ),
    files: await readLiveFiles(tx),
  };
}

async function readLiveFiles({ db }: Tx): Promise<readonly LiveFile[]> {
  const files = await db
    .selectFrom("ducklake_data_file")
    .selectAll()
    .where("end_snapshot", "is", null)
    .execute();
  const deletes = Map.groupBy(
    await db
      .selectFrom("ducklake_delete_file")
      .select(["data_file_id", "delete_count", "end_snapshot"])
      .execute(),
    (row) => row.data_file_id,
  );
  const versions = Map.groupBy(
    await db.selectFrom("ducklake_schema_versions").selectAll().orderBy("begin_snapshot").execute(),
    (row) => row.table_id,
  );
  return files.map((row) => {
    const own = deletes.get(row.data_file_id) ?? [];
    const newest = (versions.get(row.table_id) ?? []).at(-1)?.begin_snapshot ?? 0;
    return {
      row,
      deleteCount: own.find(({ end_snapshot }) => end_snapshot === null)?.delete_count ?? 0,
      hasDeletes: own.length > 0,
      hasCurrentColumns: newest <= row.begin_snapshot,
    };
  });
}

async function expireSnapshots(
  tx: Tx,
  snapshots: readonly SnapshotId[],
  pinMsMax: number,
): Promise<Expired> {
  const { db } = tx;
  const nowMs = await readNow(tx);
  const pins = await db
    .selectFrom("lake_pins")
    .select("snapshot_id")
    .where("pinned_at_ms", ">", nowMs - pinMsMax)
    .execute();
  const newest = await db
    .selectFrom("ducklake_snapshot")
    .select((eb) => eb.fn.max("snapshot_id").as("snapshot_id"))
    .executeTakeFirstOrThrow();
  const kept = new Set([newest.snapshot_id, ...pins.map((pin) => pin.snapshot_id)]);
  const gone = snapshots.filter((snapshot) => !kept.has(snapshot));
  await eachIds(gone, async (ids) => {
    await db.deleteFrom("ducklake_snapshot").where("snapshot_id", "in", ids).execute();
    await db.deleteFrom("ducklake_snapshot_changes").where("snapshot_id", "in", ids).execute();
  });
  const files = gone.length === 0 ? 0 : await removeDeadFiles(tx, nowMs);
  const tables = gone.length === 0 ? 0 : await removeDeadTables(tx);
  return { snapshots: gone.length, files, tables };
}

/** Whether an ended row is visible at no remaining snapshot. */
const isDead = sql<boolean>`end_snapshot IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM ducklake_snapshot AS kept
   WHERE kept.snapshot_id >= begin_snapshot AND kept.snapshot_id < end_snapshot)`;

async function removeDeadFiles(tx: Tx, nowMs: number): Promise<number> {
  const { db } = tx;
  const files = await db.selectFrom("ducklake_data_file").selectAll().where(isDead).execute();
  const fileIds = files.map((row) => row.data_file_id);
  const deletes = await db.selectFrom("ducklake_delete_file").selectAll().where(isDead).execute();
  await eachIds(fileIds, async (ids) => {
    const known = new Set(deletes.map((row) => row.delete_file_id));
    const more = await db
      .selectFrom("ducklake_delete_file")
      .selectAll()
      .where("data_file_id", "in", ids)
      .execute();
    deletes.push(...more.filter((row) => !known.has(row.delete_file_id)));
  });
  const directories = await readDirectories(tx);
  const scheduled = [
    ...files.map((row) => ({ ...row, id: row.data_file_id })),
    ...deletes.map((row) => ({ ...row, id: row.delete_file_id })),
  ].map((row) => ({
    data_file_id: row.id,
    path: joinPath({ path: directories.get(row.table_id) ?? "", path_is_relative: 1 }, row),
    path_is_relative: row.path_is_relative,
    schedule_start: formatSnapshotTime(nowMs),
  }));
  await eachRows(scheduled, (chunk) =>
    db.insertInto("ducklake_files_scheduled_for_deletion").values(chunk).execute(),
  );
  await removeDeleteFiles(
    tx,
    deletes.map((row) => row.delete_file_id),
  );
  await removeDataFiles(tx, fileIds);
  return scheduled.length;
}

async function removeDeadTables({ db }: Tx): Promise<number> {
  const rows = await db
    .selectFrom("ducklake_table")
    .select("table_id")
    .select(sql<number>`max(CASE WHEN ${isDead} THEN 0 ELSE 1 END)`.as("is_alive"))
    .groupBy("table_id")
    .execute();
  const dead = rows.filter((row) => row.is_alive === 0).map((row) => row.table_id);
  await eachIds(dead, async (ids) => {
    for (const table of ofTable) {
      await db.deleteFrom(table).where("table_id", "in", ids).execute();
    }
    await db.deleteFrom("ducklake_tag").where("object_id", "in", ids).execute();
  });
  return dead.length;
}

const ofTable = [
  "ducklake_column",
  "ducklake_column_tag",
  "ducklake_table_stats",
  "ducklake_table_column_stats",
  "ducklake_schema_versions",
  "ducklake_partition_info",
  "ducklake_partition_column",
  "ducklake_sort_info",
  "ducklake_sort_expression",
  "ducklake_column_mapping",
  "ducklake_table",
] as const;

async function readOrphanFacts(tx: Tx): Promise<OrphanFacts> {
  const { db } = tx;
  const directories = await readDirectories(tx);
  const columns = ["table_id", "path", "path_is_relative"] as const;
  const files = await db.selectFrom("ducklake_data_file").select(columns).execute();
  const deletes = await db.selectFrom("ducklake_delete_file").select(columns).execute();
  const scheduled = await db
    .selectFrom("ducklake_files_scheduled_for_deletion")
    .select("path")
    .execute();
  const tokens = await db
    .selectFrom("lake_commit_tokens")
    .select("token")
    .where("snapshot_id", "is", null)
    .where("expires_at_ms", ">", sql<number>`now_ms()`)
    .execute();
  const paths = [...files, ...deletes].map((row) =>
    joinPath({ path: directories.get(row.table_id) ?? "", path_is_relative: 1 }, row),
  );
  return {
    nowMs: await readNow(tx),
    referenced: new Set([...paths, ...scheduled.map(({ path }) => path)]),
    liveTokens: tokens.map(({ token }) => token),
  };
}

/** Directories by table. A renamed table keeps its directory. */
export async function readDirectories(tx: Tx): Promise<ReadonlyMap<number, string>> {
  const schemas = new Map((await readSchemas(tx)).map((row) => [row.schema_id, row]));
  const tables = await tx.db.selectFrom("ducklake_table").selectAll().execute();
  return new Map(
    tables.map((table) => {
      const schema = schemas.get(table.schema_id);
      assert(schema !== undefined, `table ${table.table_name} has a schema`);
      return [table.table_id, joinPath(schema, table)];
    }),
  );
}

async function readNow({ db }: Tx): Promise<number> {
  const [row] = (await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db)).rows;
  assert(row !== undefined, "the database has a clock");
  return row.now;
}

function timeOf(text: string): number {
  const timeMs = parseSnapshotTime(text);
  assert(timeMs !== undefined, `${text} is a time`);
  return timeMs;
}
