/** Pools of values, in chunks: a row stays small however many values there are. */
import { sql } from "kysely";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import type { ParameterValue } from "../../core/operation.ts";
import type { PoolValue } from "../document.ts";

type Db = Tx["db"];

export interface PoolSize {
  readonly pool: string;
  readonly value_count: number;
}

const chunkValues = 2_000;
export const poolValuesMax = 1_000_000;

export async function poolSizes(db: Db, templateId: string): Promise<readonly PoolSize[]> {
  const rows = await db
    .selectFrom("template_value_pools as p")
    .select(["p.pool", sql<number>`max(p.chunk)`.as("last")])
    .where("p.template_id", "=", templateId)
    .groupBy("p.pool")
    .orderBy("p.pool")
    .execute();
  const sizes: PoolSize[] = [];
  for (const { pool, last } of rows) {
    const values = await readChunk(db, templateId, pool, Number(last));
    sizes.push({ pool, value_count: Number(last) * chunkValues + values.length });
  }
  return sizes;
}

export async function readPool(
  db: Db,
  templateId: string,
  pool: string,
): Promise<readonly PoolValue[] | undefined> {
  const rows = await db
    .selectFrom("template_value_pools")
    .select("pool_values")
    .where("template_id", "=", templateId)
    .where("pool", "=", pool)
    .orderBy("chunk")
    .execute();
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ pool_values: text }) => JSON.parse(text) as PoolValue[]);
}

async function readChunk(
  db: Db,
  templateId: string,
  pool: string,
  chunk: number,
): Promise<readonly PoolValue[]> {
  const row = await db
    .selectFrom("template_value_pools")
    .select("pool_values")
    .where("template_id", "=", templateId)
    .where("pool", "=", pool)
    .where("chunk", "=", chunk)
    .executeTakeFirst();
  return JSON.parse(row?.pool_values ?? "[]") as PoolValue[];
}

export async function writePool(
  db: Db,
  templateId: string,
  pool: string,
  values: readonly PoolValue[],
): Promise<void> {
  checkPool(pool, values);
  await db
    .deleteFrom("template_value_pools")
    .where("template_id", "=", templateId)
    .where("pool", "=", pool)
    .execute();
  for (const chunk of chunksOf(pool, values)) {
    await db
      .insertInto("template_value_pools")
      .values({ template_id: templateId, ...chunk })
      .execute();
  }
}

/** The values as rows of a table of pools. */
export function* chunksOf(pool: string, values: readonly PoolValue[] | readonly ParameterValue[]) {
  for (let from = 0; from < values.length; from += chunkValues) {
    const pool_values = JSON.stringify(values.slice(from, from + chunkValues));
    yield { pool, chunk: from / chunkValues, pool_values };
  }
}

/** Throws `bad_request`. */
export function checkPool(pool: string, values: readonly PoolValue[]): void {
  if (values.length > 0 && values.length <= poolValuesMax) return;
  const message = `the pool ${pool} has ${values.length} values; expected 1 to ${poolValuesMax}`;
  throw new OperatingError("bad_request", "never", message);
}

export async function copyPools(db: Db, from: string, to: string): Promise<void> {
  await sql`INSERT INTO template_value_pools (template_id, pool, chunk, pool_values)
    SELECT ${to}, pool, chunk, pool_values FROM template_value_pools WHERE template_id = ${from}`.execute(
    db,
  );
}
