/** Reads tables at snapshots. Every function reads one state of the catalog, in one transaction. */
import { type Kysely, sql } from "kysely";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { TableMoment } from "../../sql/core/index.ts";
import type { TableRef } from "../core/catalog.ts";
import type { LakeTable, SnapshotId, SnapshotInfo, TableId, TableVersion } from "../core/model.ts";
import { isVisible, type SchemaRow, type SnapshotRow, type TableRow } from "../core/rows.ts";
import { similarNames } from "../core/similar-names.ts";
import { formatSnapshotTime, parseSnapshotTime } from "../core/snapshot-time.ts";
import { filesAt, tableAt } from "../core/table-version.ts";
import { readSchemas } from "./read-commit-facts.ts";

type Db = Tx["db"];

export async function readCurrent({ db }: Tx): Promise<SnapshotInfo> {
  return infoOf(await selectNewest(db).executeTakeFirstOrThrow());
}

export async function readSnapshots(
  { db }: Tx,
  limit: number,
  before: SnapshotId | undefined,
): Promise<readonly SnapshotInfo[]> {
  let query = selectNewest(db).clearLimit().limit(limit);
  if (before !== undefined) query = query.where("snapshot_id", "<", before);
  return (await query.execute()).map(infoOf);
}

/** Throws `not_found` when the snapshot has expired or never existed. */
export async function requireSnapshot(tx: Tx, snapshot: number): Promise<SnapshotId> {
  const [found] = await readSnapshots(tx, 1, (snapshot + 1) as SnapshotId);
  if (found?.snapshot === snapshot) return found.snapshot;
  const newest = await readCurrent(tx);
  const isAhead = snapshot > newest.snapshot;
  throw new OperatingError("not_found", "never", `there is no snapshot ${snapshot}`, {
    hint: isAhead
      ? `the newest is ${newest.snapshot}`
      : "it has expired; SHOW SNAPSHOTS names those that are kept",
  });
}

export async function hasSnapshot({ db }: Tx, snapshot: SnapshotId): Promise<boolean> {
  const found = await db
    .selectFrom("ducklake_snapshot")
    .select("snapshot_id")
    .where("snapshot_id", "=", snapshot)
    .executeTakeFirst();
  return found !== undefined;
}

export async function resolveRefs(
  tx: Tx,
  refs: readonly TableRef[],
): Promise<readonly TableVersion[]> {
  const schemas = await readSchemas(tx);
  const snapshots = await resolveMoments(tx, refs);
  const named = await selectNamed(tx.db, [...new Set(refs.map(({ name }) => name))]);
  const wanted: WantedTable[] = [];
  for (const [index, ref] of refs.entries()) {
    const snapshot = snapshots[index];
    assert(snapshot !== undefined, "every reference has a moment");
    const table = findTable(named, schemas, ref, snapshot);
    if (table === undefined) throw await noSuchTable(tx, ref, snapshot);
    wanted.push({ ...table, snapshot });
  }
  return readVersions(tx, wanted);
}

export async function readVersion(
  tx: Tx,
  tableId: TableId,
  snapshot: SnapshotId,
): Promise<TableVersion> {
  await requireSnapshot(tx, snapshot);
  const table = await readTableRow(tx, tableId, snapshot);
  if (table === undefined) {
    throw new OperatingError(
      "not_found",
      "never",
      `there is no table ${tableId} at snapshot ${snapshot}`,
      {
        hint: "it was dropped, or was not there yet",
      },
    );
  }
  const [version] = await readVersions(tx, [{ ...table, snapshot }]);
  assert(version !== undefined, "a table that is there has a version");
  return version;
}

export async function readTables(
  tx: Tx,
  at: SnapshotId | undefined,
): Promise<readonly LakeTable[]> {
  if (at !== undefined) await requireSnapshot(tx, at);
  const snapshot = at ?? (await readCurrent(tx)).snapshot;
  const schemas = await readSchemas(tx);
  const rows = await tx.db
    .selectFrom("ducklake_table")
    .selectAll()
    .where("begin_snapshot", "<=", snapshot)
    .where((eb) => eb.or([eb("end_snapshot", "is", null), eb("end_snapshot", ">", snapshot)]))
    .execute();
  const columns = Map.groupBy(
    await tx.db.selectFrom("ducklake_column").selectAll().execute(),
    (row) => row.table_id,
  );
  return rows
    .map((table) => ({
      table,
      schema: schemaOf(schemas, table),
      columns: columns.get(table.table_id) ?? [],
    }))
    .map((table) => tableAt(table, snapshot))
    .sort((a, b) => compare(a.schema, b.schema) || compare(a.name, b.name));
}

/** A table by its id, under its name at a snapshot. */
export async function readTableRow(
  tx: Tx,
  tableId: TableId,
  snapshot: SnapshotId,
): Promise<{ readonly table: TableRow; readonly schema: SchemaRow } | undefined> {
  const rows = await tx.db
    .selectFrom("ducklake_table")
    .selectAll()
    .where("table_id", "=", tableId)
    .execute();
  const table = rows.find((row) => isVisible(row, snapshot));
  if (table === undefined) return undefined;
  return { table, schema: schemaOf(await readSchemas(tx), table) };
}

interface WantedTable {
  readonly table: TableRow;
  readonly schema: SchemaRow;
  readonly snapshot: SnapshotId;
}

async function readVersions(
  tx: Tx,
  wanted: readonly WantedTable[],
): Promise<readonly TableVersion[]> {
  const ids = [...new Set(wanted.map(({ table }) => table.table_id))];
  if (ids.length === 0) return [];
  const oldest = Math.min(...wanted.map(({ snapshot }) => snapshot)) as SnapshotId;
  const newest = Math.max(...wanted.map(({ snapshot }) => snapshot)) as SnapshotId;
  const columns = await selectColumns(tx.db, ids);
  const { files, deletes } = await selectFiles(tx.db, ids, oldest, newest);
  return wanted.map(({ table, schema, snapshot }) => {
    const id = table.table_id;
    const lakeTable = tableAt({ schema, table, columns: columns.get(id) ?? [] }, snapshot);
    return {
      snapshot,
      table: lakeTable,
      files: filesAt(lakeTable.path, files.get(id) ?? [], deletes.get(id) ?? [], snapshot),
    };
  });
}

export async function selectColumns(db: Db, ids: readonly number[]) {
  const rows = await db
    .selectFrom("ducklake_column")
    .selectAll()
    .where("table_id", "in", ids)
    .execute();
  return Map.groupBy(rows, (row) => row.table_id);
}

/** Files that are visible at some snapshot from `oldest` to `newest`, by table. */
async function selectFiles(db: Db, ids: readonly number[], oldest: SnapshotId, newest: SnapshotId) {
  const files = await selectDataFiles(db, ids, oldest, newest).execute();
  const deletes = await selectDeleteFiles(db)
    .where("table_id", "in", ids)
    .where("begin_snapshot", "<=", newest)
    .where((eb) => eb.or([eb("end_snapshot", "is", null), eb("end_snapshot", ">", oldest)]))
    .execute();
  return {
    files: Map.groupBy(files, (row) => row.table_id),
    deletes: Map.groupBy(deletes, (row) => row.table_id),
  };
}

/** Data files with their checksums, visible at some snapshot from `oldest` to `newest`. */
export function selectDataFiles(
  db: Db,
  ids: readonly number[],
  oldest: SnapshotId,
  newest: SnapshotId,
) {
  return db
    .selectFrom("ducklake_data_file")
    .leftJoin("lake_file_checksums", "file_id", "data_file_id")
    .selectAll("ducklake_data_file")
    .select(["crc32", "damage"])
    .where("table_id", "in", ids)
    .where("begin_snapshot", "<=", newest)
    .where((eb) => eb.or([eb("end_snapshot", "is", null), eb("end_snapshot", ">", oldest)]));
}

/** Delete files with their checksums. */
export function selectDeleteFiles(db: Db) {
  return db
    .selectFrom("ducklake_delete_file")
    .leftJoin("lake_file_checksums", "file_id", "delete_file_id")
    .selectAll("ducklake_delete_file")
    .select(["crc32", "damage"]);
}

function selectNewest(db: Db) {
  return db.selectFrom("ducklake_snapshot").selectAll().orderBy("snapshot_id", "desc").limit(1);
}

/** All tables that ever had one of these names, in any case. */
function selectNamed(db: Kysely<never> | Db, names: readonly string[]): Promise<TableRow[]> {
  if (names.length === 0) return Promise.resolve([]);
  return (db as Db)
    .selectFrom("ducklake_table")
    .selectAll()
    .where((eb) =>
      eb.or(
        names.map((name) =>
          eb(eb.fn<string>("lower", ["table_name"]), "=", sql<string>`lower(${name})`),
        ),
      ),
    )
    .execute();
}

function findTable(
  rows: readonly TableRow[],
  schemas: readonly SchemaRow[],
  ref: TableRef,
  snapshot: SnapshotId,
): { readonly table: TableRow; readonly schema: SchemaRow } | undefined {
  const schemaName = (ref.schema ?? "main").toLowerCase();
  const name = ref.name.toLowerCase();
  for (const table of rows) {
    if (!isVisible(table, snapshot) || table.table_name.toLowerCase() !== name) continue;
    const schema = schemaOf(schemas, table);
    if (schema.schema_name.toLowerCase() === schemaName) return { table, schema };
  }
  return undefined;
}

async function noSuchTable(tx: Tx, ref: TableRef, snapshot: SnapshotId): Promise<OperatingError> {
  const tables = await readTables(tx, ref.moment.kind === "current" ? undefined : snapshot);
  const like = similarNames(
    ref.name,
    tables.map(({ name }) => name),
  );
  const name = ref.schema === undefined ? ref.name : `${ref.schema}.${ref.name}`;
  const when = ref.moment.kind === "current" ? "" : ` at snapshot ${snapshot}`;
  const message = `there is no table ${name}${when}`;
  return new OperatingError("not_found", "never", message, {
    hint:
      like.length === 0 ? "SHOW TABLES lists those that there are" : `there is ${like.join(", ")}`,
  });
}

async function resolveMoments(tx: Tx, refs: readonly TableRef[]): Promise<readonly SnapshotId[]> {
  const known = new Map<string, SnapshotId>();
  const snapshots: SnapshotId[] = [];
  for (const { moment } of refs) {
    const key = JSON.stringify(moment);
    const snapshot = known.get(key) ?? (await resolveMoment(tx, moment));
    known.set(key, snapshot);
    snapshots.push(snapshot);
  }
  return snapshots;
}

async function resolveMoment(tx: Tx, moment: TableMoment): Promise<SnapshotId> {
  switch (moment.kind) {
    case "current":
      return (await readCurrent(tx)).snapshot;
    case "version":
      return await requireSnapshot(tx, moment.snapshot);
    case "time":
      return await snapshotAtTime(tx, moment.timeMs);
  }
}

/** The newest snapshot at or before the time. Throws if a nearer one has expired. */
async function snapshotAtTime({ db }: Tx, timeMs: number): Promise<SnapshotId> {
  const text = formatSnapshotTime(Math.min(Math.max(0, Math.floor(timeMs)), timeMsMax));
  const found = await selectNewest(db).where("snapshot_time", "<=", text).executeTakeFirst();
  const next =
    found === undefined
      ? undefined
      : await db
          .selectFrom("ducklake_snapshot as snapshot")
          .innerJoin(
            "ducklake_snapshot_changes as changes",
            "changes.snapshot_id",
            "snapshot.snapshot_id",
          )
          .select(["snapshot.snapshot_id", "changes.commit_extra_info"])
          .where("snapshot.snapshot_id", ">", found.snapshot_id)
          .orderBy("snapshot.snapshot_id")
          .limit(1)
          .executeTakeFirst();
  if (found !== undefined) {
    const follows = next === undefined ? found.snapshot_id : followed(next);
    if (follows === found.snapshot_id) return found.snapshot_id as SnapshotId;
  }
  throw new OperatingError("not_found", "never", `there is no snapshot of ${text}`, {
    hint: "it has expired; SHOW SNAPSHOTS names those that are kept",
  });
}

const timeMsMax = 253_402_300_799_999;

function followed(next: { snapshot_id: number; commit_extra_info: string | null }): number {
  const match = /^\{"follows":(\d+)\}$/.exec(next.commit_extra_info ?? "");
  return match === null ? next.snapshot_id - 1 : Number(match[1]);
}

function schemaOf(schemas: readonly SchemaRow[], table: TableRow): SchemaRow {
  const schema = schemas.find((row) => row.schema_id === table.schema_id);
  assert(schema !== undefined, `table ${table.table_name} has a schema`);
  return schema;
}

function infoOf(row: SnapshotRow): SnapshotInfo {
  const timeMs = parseSnapshotTime(row.snapshot_time);
  assert(timeMs !== undefined, `the time of snapshot ${row.snapshot_id} is one`);
  return { snapshot: row.snapshot_id as SnapshotId, timeMs, schemaVersion: row.schema_version };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
