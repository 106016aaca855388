/** The slots that queries of a name hold, which a query that takes their place gets (SC33). */
import type { Tx } from "../../../../ground/store/index.ts";
import type { HeldSlots } from "../core/planner.ts";

export async function readHeldSlots({ db }: Tx): Promise<readonly HeldSlots[]> {
  const rows = await db
    .selectFrom("query_fragments")
    .innerJoin("queries", "queries.query_id", "query_fragments.query_id")
    .select(({ fn }) => ["queries.query_id", "name_key", "worker_id", fn.countAll().as("count")])
    .where("holds_slot", "=", 1)
    .where("name_key", "is not", null)
    .groupBy(["queries.query_id", "name_key", "worker_id"])
    .execute();
  return rows.map(({ query_id: queryId, name_key, worker_id: workerId, count }) => ({
    ...{ queryId, nameKey: name_key ?? "", workerId, count: Number(count) },
  }));
}

/** By worker: slots of the query with the name, and of predecessors that still run. */
export async function slotsHeld({ db }: Tx, name: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom("query_fragments")
    .innerJoin("queries", "queries.query_id", "query_fragments.query_id")
    .select(({ fn }) => ["worker_id", fn.countAll().as("count")])
    .where("holds_slot", "=", 1)
    .where("name_key", "=", name.toUpperCase())
    .groupBy("worker_id")
    .execute();
  return new Map(rows.map(({ worker_id, count }) => [worker_id, Number(count)]));
}
