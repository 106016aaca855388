/** Reads the facts that a commit is planned from, in the transaction that writes it. */
import { sql } from "kysely";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { Commit, TableChange } from "../core/commit.ts";
import type { CommitFacts, TableFacts } from "../core/commit-rows.ts";
import { isMerge } from "../core/plan-row-change.ts";
import type { SchemaRow, SnapshotRow, TableRow } from "../core/rows.ts";
import { formatSnapshotTime, parseSnapshotTime } from "../core/snapshot-time.ts";
import { selectByIds } from "./statements.ts";

export interface LakeHead {
  readonly head: SnapshotRow;
  readonly nowMs: number;
  /** The stored result of the token's commit; undefined when it is not done. */
  readonly done: string | undefined;
}

export async function readHead({ db }: Tx, token: string): Promise<LakeHead> {
  const { now_ms, done, ...head } = await db
    .selectFrom("ducklake_snapshot")
    .selectAll()
    .select((eb) => [
      sql<number>`now_ms()`.as("now_ms"),
      eb
        .selectFrom("lake_commit_tokens")
        .select("result_json")
        .where("token", "=", token)
        .as("done"),
    ])
    .orderBy("snapshot_id", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  return { head, nowMs: now_ms, done: done ?? undefined };
}

export async function readCommitFacts(
  tx: Tx,
  commit: Commit,
  { head, nowMs }: LakeHead,
  createUuid: () => string,
): Promise<CommitFacts> {
  const headMs = notBefore(head);
  const rowChanges = commit.changes.filter((change) => change.kind === "changeRows");
  const fileIds = rowChanges.flatMap(({ deletes, ended }) => [
    ...deletes.map(({ dataFileId }) => dataFileId),
    ...ended,
  ]);
  const schemas = await readSchemas(tx);
  const files = await selectByIds(fileIds, (ids) =>
    tx.db.selectFrom("ducklake_data_file").selectAll().where("data_file_id", "in", ids).execute(),
  );
  const deletes = await selectByIds(fileIds, (ids) =>
    tx.db.selectFrom("ducklake_delete_file").selectAll().where("data_file_id", "in", ids).execute(),
  );
  return {
    head,
    timeMs: Math.max(nowMs, headMs),
    schemas: schemas.filter((row) => row.end_snapshot === null),
    tables: await readTableFacts(tx, commit, schemas),
    files: new Map(files.map((row) => [row.data_file_id, row])),
    deletes: Map.groupBy(deletes, (row) => row.data_file_id),
    createUuid,
  };
}

/** The time rounded up to milliseconds: other writers have microseconds. */
function notBefore({ snapshot_id, snapshot_time }: SnapshotRow): number {
  const timeMs = parseSnapshotTime(snapshot_time);
  assert(timeMs !== undefined, `the time of snapshot ${snapshot_id} is one`);
  return formatSnapshotTime(timeMs) < snapshot_time ? timeMs + 1 : timeMs;
}

export function readSchemas({ db }: Tx): Promise<SchemaRow[]> {
  return db.selectFrom("ducklake_schema").selectAll().execute();
}

async function readTableFacts(
  tx: Tx,
  { changes }: Commit,
  schemas: readonly SchemaRow[],
): Promise<ReadonlyMap<number, TableFacts>> {
  const tables = await readNamedTables(tx, changes);
  const ids = [...tables.keys()];
  if (ids.length === 0) return new Map();
  const { db } = tx;
  const byTable = <T extends { table_id: number }>(rows: readonly T[]) =>
    Map.groupBy(rows, (row) => row.table_id);
  const columns = byTable(
    await db.selectFrom("ducklake_column").selectAll().where("table_id", "in", ids).execute(),
  );
  const stats = byTable(
    await db.selectFrom("ducklake_table_stats").selectAll().where("table_id", "in", ids).execute(),
  );
  const columnStats = byTable(
    await db
      .selectFrom("ducklake_table_column_stats")
      .selectAll()
      .where("table_id", "in", ids)
      .execute(),
  );
  const facts = new Map<number, TableFacts>();
  for (const table of tables.values()) {
    const tableId = table.table_id;
    const schema = schemas.find((row) => row.schema_id === table.schema_id);
    assert(schema !== undefined, `table ${tableId} has a schema`);
    facts.set(tableId, {
      schema,
      table,
      columns: columns.get(tableId) ?? [],
      stats: stats.get(tableId)?.[0],
      columnStats: columnStats.get(tableId) ?? [],
      ...(await readLiveFiles(tx, tableId, changes)),
    });
  }
  return facts;
}

/** The newest row of each table that the changes name by id, or whose name they want. */
async function readNamedTables(
  { db }: Tx,
  changes: readonly TableChange[],
): Promise<ReadonlyMap<number, TableRow>> {
  const ids = changes.flatMap((change) => ("tableId" in change ? [change.tableId as number] : []));
  const names = changes.flatMap((change) =>
    change.kind === "createTable" || change.kind === "renameTable" ? [change.name] : [],
  );
  if (ids.length + names.length === 0) return new Map();
  const rows = await db
    .selectFrom("ducklake_table")
    .selectAll()
    .where((eb) =>
      eb.or([
        ...(ids.length === 0 ? [] : [eb("table_id", "in", [...new Set(ids)])]),
        ...names.map((name) =>
          eb.and([
            eb("end_snapshot", "is", null),
            eb(eb.fn<string>("lower", ["table_name"]), "=", sql<string>`lower(${name})`),
          ]),
        ),
      ]),
    )
    .orderBy("begin_snapshot")
    .execute();
  return new Map(rows.map((row) => [row.table_id, row]));
}

/** Reading the statistics of more files would take seconds, while every other commit waits. */
const filesMax = 2_000;

/** Reads files only where a change ends some, and statistics only where it rewrites few of them. */
async function readLiveFiles(
  { db }: Tx,
  tableId: number,
  changes: readonly TableChange[],
): Promise<Pick<TableFacts, "liveFileCount" | "liveFileStats">> {
  const own = changes.filter(
    (change) => change.kind === "changeRows" && change.tableId === tableId,
  );
  const ending = own.filter((change) => change.kind === "changeRows" && change.ended.length > 0);
  if (ending.length === 0) return { liveFileCount: 0, liveFileStats: undefined };
  const { n } = await db
    .selectFrom("ducklake_data_file")
    .select((eb) => eb.fn.countAll<number>().as("n"))
    .where("table_id", "=", tableId)
    .where("end_snapshot", "is", null)
    .executeTakeFirstOrThrow();
  const isRewritten = ending.some(
    (change) => change.kind === "changeRows" && change.isCompaction && !isMerge(change),
  );
  if (!isRewritten || n > filesMax) return { liveFileCount: n, liveFileStats: undefined };
  const liveFileStats = await db
    .selectFrom("ducklake_file_column_stats as stats")
    .innerJoin("ducklake_data_file as file", "file.data_file_id", "stats.data_file_id")
    .selectAll("stats")
    .where("file.table_id", "=", tableId)
    .where("file.end_snapshot", "is", null)
    .execute();
  return { liveFileCount: n, liveFileStats };
}
