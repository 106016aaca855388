/**
 * The control store's rows as lines of JSON, one file per table, from SQLite or Postgres to either.
 * All rows come from the caller's transaction. They are written back in an order in which every
 * reference finds its row. Rows of the old processes are left out: workers register again, and
 * leases and claims are free. Epochs and fences continue (BU2).
 */
import { join } from "node:path";
import { sql } from "kysely";
import { assert } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import type { Store, Tx } from "../../ground/store/index.ts";
import { storeTables } from "../../ground/store/index.ts";

const rowsPerPage = 2_000;
/** SQLite allows 32,766 parameters in a statement. */
const parametersMax = 30_000;

type Row = Readonly<Record<string, string | number | null>>;

/** Tables whose rows belong to the old processes, or that setup fills. */
const leftBehind = new Set([
  "schema_version",
  "workers",
  "metrics_head",
  "upkeep_holds",
  "lake_identity",
]);
const freed: Readonly<Record<string, Row>> = {
  coordinator_leases: { expires_at_ms: 0 },
  maintenance_claims: { expires_at_ms: 0 },
};

/** Returns the files' names. It may run again, and then writes the files anew. */
export async function dumpStore(
  { db }: Tx,
  dialect: Store["dialect"],
  files: Files,
  directory: string,
): Promise<readonly string[]> {
  const names: string[] = [];
  const place = sql.raw(dialect === "sqlite" ? "rowid" : "ctid");
  for (const table of storeTables()) {
    if (leftBehind.has(table)) continue;
    const name = `${table}.jsonl`;
    names.push(name);
    const path = join(directory, name);
    await files.removeAll(path);
    const file = await files.open(path, "append");
    try {
      for (let offset = 0; ; offset += rowsPerPage) {
        const { rows } = await sql<Row>`
          SELECT * FROM ${sql.table(table)} ${onlyLive(table)}
           ORDER BY ${place} LIMIT ${rowsPerPage} OFFSET ${offset}`.execute(db);
        const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
        if (lines !== "") await file.write(Buffer.from(lines), 0);
        if (rows.length < rowsPerPage) break;
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }
  return names;
}

/** Files of removed segments may be deleted at any moment. */
function onlyLive(table: string) {
  return sql.raw(table === "metric_segments" ? "WHERE removed_at_ms IS NULL" : "");
}

/** Loads rows into a store that was just set up, each table after those that it refers to. */
export async function loadStore({ db }: Tx, tables: ReadonlyMap<string, string>): Promise<number> {
  const order = storeTables().filter((table) => tables.has(table));
  assert(order.length === tables.size, "every table of the dump is one of the store's");
  for (const table of order.toReversed()) await sql`DELETE FROM ${sql.table(table)}`.execute(db);
  let count = 0;
  for (const table of order) {
    const rows = (tables.get(table) ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Row => ({ ...(JSON.parse(line) as Row), ...freed[table] }));
    count += rows.length;
    const columns = Object.keys(rows[0] ?? {});
    const chunk = Math.max(1, Math.floor(parametersMax / Math.max(1, columns.length)));
    for (let from = 0; from < rows.length; from += chunk) {
      const values = rows
        .slice(from, from + chunk)
        .map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
      await sql`
        INSERT INTO ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
        VALUES ${sql.join(values)}`.execute(db);
    }
  }
  return count;
}
