/**
 * Rows that others take the place of (SC33, SC34). A row that is superseded has no name any more
 * and stays for as long as something refers to it: a query until all of it is confirmed gone, a
 * source or sink until the last query that uses it is. `superseded_by` is the row that took the
 * name, or the row itself where none did.
 */
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { Applying, SupersededRow } from "./applying.ts";
import { type Referred, refuseUsed } from "./references.ts";
import { deleteSecrets } from "./stored-plans.ts";

type SourceOrSink = Referred["table"];

/** A row may refer to rows of later tables, so it is removed before them. */
const removalOrder: readonly SourceOrSink[] = ["sinks", "physical_sources", "logical_sources"];

/**
 * Takes the name from a source or sink. Whether anything still refers to it is asked when the whole
 * bundle is applied (`settleSuperseded`), since queries that use it may be replaced further on.
 */
export async function supersede({ tx, bundle }: Applying, row: SupersededRow): Promise<void> {
  await tx.update(row.table, row.id, { superseded_by: row.id });
  bundle.superseded.push(row);
}

/** A row of the bundle that has taken a freed name is the successor of the row that had it. */
export async function succeed(
  { tx, bundle }: Applying,
  table: "sinks" | "logical_sources",
  nameKey: string,
  id: string,
): Promise<void> {
  for (const row of bundle.superseded) {
    if (row.table !== table || row.nameKey !== nameKey) continue;
    await tx.update(table, row.id, { superseded_by: id });
  }
}

/**
 * Removes what the bundle dropped and nothing uses. What is used by queries that go by themselves,
 * all of them by this bundle, stays until they are gone. Anything else is refused (SC6).
 */
export async function settleSuperseded({ tx, bundle }: Applying): Promise<void> {
  for (const table of removalOrder) {
    const own = bundle.superseded.filter((row) => row.table === table);
    // A view may read another view, so the newest is removed first.
    for (const row of own.toSorted((one, other) => Number(other.id) - Number(one.id))) {
      await refuseUsed(tx, row, bundle.queries);
      if (!(await isUsed(tx, row))) await removeSuperseded(tx, row);
    }
  }
}

/** The rows with which a query goes, if nothing else uses them: asked before it is removed. */
export async function readSuperseded(
  { db }: CatalogTx,
  queryId: string,
): Promise<readonly Referred[]> {
  const sinks = await db
    .selectFrom("query_sinks")
    .innerJoin("sinks", "sinks.sink_id", "query_sinks.sink_id")
    .select(["sinks.sink_id as id", "name"])
    .where("query_id", "=", queryId)
    .where("superseded_by", "is not", null)
    .execute();
  const physical = await db
    .selectFrom("query_physical_sources as used")
    .innerJoin("physical_sources as source", "source.physical_source_id", "used.physical_source_id")
    .select("source.physical_source_id as id")
    .where("query_id", "=", queryId)
    .where("superseded_by", "is not", null)
    .execute();
  const logical = await db
    .selectFrom("query_logical_sources as used")
    .innerJoin("logical_sources as source", "source.source_id", "used.source_id")
    .select(["source.source_id as id", "name"])
    .where("query_id", "=", queryId)
    .where("superseded_by", "is not", null)
    .execute();
  return [
    ...sinks.map(({ id, name }): Referred => ({ table: "sinks", id, label: name })),
    ...physical.map(({ id }): Referred => ({ table: "physical_sources", id, label: id })),
    ...logical
      .toSorted((one, other) => Number(other.id) - Number(one.id))
      .map(({ id, name }): Referred => ({ table: "logical_sources", id, label: name })),
  ];
}

export async function removeUnused(tx: CatalogTx, rows: readonly Referred[]): Promise<void> {
  for (const row of rows) if (!(await isUsed(tx, row))) await removeSuperseded(tx, row);
}

/** Removes a source or sink to which only rows refer that it took the place of. */
export async function removeSuperseded(
  tx: CatalogTx,
  { table, id }: Pick<Referred, "table" | "id">,
): Promise<void> {
  for (const other of await supersededBy(tx, table, id)) {
    await tx.update(table, other, { superseded_by: other });
  }
  await tx.remove(table, id);
  if (table !== "logical_sources") await deleteSecrets(tx, id);
}

async function isUsed({ db }: CatalogTx, { table, id }: Referred): Promise<boolean> {
  if (table === "sinks") {
    const query = db.selectFrom("query_sinks").select("query_id").where("sink_id", "=", id);
    return (await query.limit(1).execute()).length > 0;
  }
  if (table === "physical_sources") {
    const query = db
      .selectFrom("query_physical_sources")
      .select("query_id")
      .where("physical_source_id", "=", id);
    return (await query.limit(1).execute()).length > 0;
  }
  const byQuery = db.selectFrom("query_logical_sources").select("query_id as user_id");
  const byPhysical = db.selectFrom("physical_sources").select("physical_source_id as user_id");
  const bySource = db.selectFrom("logical_source_uses").select("source_id as user_id");
  const users = await byQuery
    .where("source_id", "=", id)
    .unionAll(byPhysical.where("source_id", "=", id))
    .unionAll(bySource.where("used_source_id", "=", id))
    .limit(1)
    .execute();
  return users.length > 0;
}

async function supersededBy(
  { db }: CatalogTx,
  table: SourceOrSink,
  id: string,
): Promise<readonly string[]> {
  const rows = await (table === "sinks"
    ? db.selectFrom("sinks").select("sink_id as id").where("superseded_by", "=", id).execute()
    : table === "physical_sources"
      ? db
          .selectFrom("physical_sources")
          .select("physical_source_id as id")
          .where("superseded_by", "=", id)
          .execute()
      : db
          .selectFrom("logical_sources")
          .select("source_id as id")
          .where("superseded_by", "=", id)
          .execute());
  return rows.flatMap((row) => (row.id === id ? [] : row.id));
}
