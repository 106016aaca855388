/** The pools of values of a run: a copy, made when it is prepared. */

import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import type { RunId } from "../core/ids.ts";
import type { ParameterValue } from "../core/operation.ts";
import { chunksOf } from "../templates/store/value-pools.ts";

/** Where a new run's pools come from. */
export type PoolSource =
  | { readonly kind: "values"; readonly pools: Readonly<Record<string, readonly ParameterValue[]>> }
  | { readonly kind: "template"; readonly templateId: string }
  /** A run that is repeated. */
  | { readonly kind: "run"; readonly runId: RunId };

export async function writeRunPools({ db }: Tx, runId: RunId, source: PoolSource): Promise<void> {
  switch (source.kind) {
    case "template":
      await sql`INSERT INTO run_value_pools (run_id, pool, chunk, pool_values)
        SELECT ${runId}, pool, chunk, pool_values FROM template_value_pools
         WHERE template_id = ${source.templateId}`.execute(db);
      return;
    case "run":
      await sql`INSERT INTO run_value_pools (run_id, pool, chunk, pool_values)
        SELECT ${runId}, pool, chunk, pool_values FROM run_value_pools
         WHERE run_id = ${source.runId}`.execute(db);
      return;
    case "values":
      for (const [pool, values] of Object.entries(source.pools)) {
        for (const chunk of chunksOf(pool, values)) {
          await db
            .insertInto("run_value_pools")
            .values({ run_id: runId, ...chunk })
            .execute();
        }
      }
  }
}

/** Of a run of an older version, which has none of its own, those of its template. */
export async function readRunPools(
  { db }: Tx,
  runId: RunId,
  templateId: string | null,
): Promise<ReadonlyMap<string, readonly ParameterValue[]>> {
  const own = await db
    .selectFrom("run_value_pools")
    .select(["pool", "pool_values"])
    .where("run_id", "=", runId)
    .orderBy("pool")
    .orderBy("chunk")
    .execute();
  const rows =
    own.length > 0 || templateId === null
      ? own
      : await db
          .selectFrom("template_value_pools")
          .select(["pool", "pool_values"])
          .where("template_id", "=", templateId)
          .orderBy("pool")
          .orderBy("chunk")
          .execute();
  const pools = new Map<string, ParameterValue[]>();
  for (const { pool, pool_values: text } of rows) {
    const values = pools.get(pool) ?? [];
    for (const value of JSON.parse(text) as readonly ParameterValue[]) values.push(value);
    pools.set(pool, values);
  }
  return pools;
}
