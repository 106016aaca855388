/** The rows behind the figures about all queries, as of one moment. */
import { sql } from "kysely";
import type { Tx } from "../../../../ground/store/index.ts";
import { readWorkers } from "../../catalog/index.ts";
import type { NewestCheckpoint, WatchedRows } from "../core/stream-gauges.ts";

export class WatchedRowsReader {
  /** Plans never change, so each is read once. */
  readonly #intervals = new Map<string, number>();

  async read(tx: Tx): Promise<WatchedRows> {
    const { db } = tx;
    const queries = await db.selectFrom("queries").selectAll().execute();
    const fragments = await db
      .selectFrom("query_fragments")
      .selectAll()
      .orderBy("fragment_id")
      .execute();
    const { rows } = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
    const workers = await readWorkers(tx);
    await this.#readIntervals(tx, new Set(queries.map(({ query_id }) => query_id)));
    const sum = (counts: readonly number[]): number => counts.reduce((one, two) => one + two, 0);
    return {
      ...{ queries, fragments, intervals: new Map(this.#intervals) },
      checkpoints: await readNewest(tx),
      slots: sum(workers.map(({ slots }) => slots)),
      slotsUsed: sum(workers.map(({ slots_used }) => slots_used)),
      nowMs: rows[0]?.now ?? 0,
    };
  }

  async #readIntervals({ db }: Tx, queries: ReadonlySet<string>): Promise<void> {
    for (const known of this.#intervals.keys()) {
      if (!queries.has(known)) this.#intervals.delete(known);
    }
    for (const queryId of queries) {
      if (this.#intervals.has(queryId)) continue;
      const row = await db
        .selectFrom("query_plans")
        .select("plan")
        .where("query_id", "=", queryId)
        .executeTakeFirst();
      const intervalMs = row && intervalOf(row.plan);
      if (intervalMs !== undefined) this.#intervals.set(queryId, intervalMs);
    }
  }
}

/** `undefined` for a plan of another format. */
function intervalOf(text: string): number | undefined {
  const stored = JSON.parse(text) as {
    readonly plan?: { readonly settings?: { readonly checkpointIntervalMs?: number } };
  };
  return stored.plan?.settings?.checkpointIntervalMs;
}

/** Without their manifests, which may be long. */
async function readNewest({ db }: Tx): Promise<ReadonlyMap<string, NewestCheckpoint>> {
  const rows = await db
    .selectFrom("query_checkpoints")
    .select(["query_id", "duration_ms", "size_bytes", "completed_at_ms"])
    .orderBy("checkpoint")
    .execute();
  return new Map(
    rows.map(({ query_id, duration_ms, size_bytes, completed_at_ms }) => [
      query_id,
      { durationMs: duration_ms, sizeBytes: size_bytes, completedAtMs: completed_at_ms },
    ]),
  );
}
