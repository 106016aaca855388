/** The rows that a decision about a query is made from, all of one moment. */
import { sql } from "kysely";
import type { Tx } from "../../../../ground/store/index.ts";
import type { FragmentRow, QueryRow } from "../../catalog/core/index.ts";
import type { CleanupOwed } from "../core/query-view.ts";

export interface QueryRows {
  readonly query: QueryRow;
  readonly fragments: readonly FragmentRow[];
  readonly cleanups: readonly CleanupOwed[];
  /** The query that it replaces, until that one is removed. */
  readonly predecessor: string | undefined;
  /** Workers of its fragments that drain. */
  readonly leaving: readonly string[];
  /** By the store's clock. */
  readonly nowMs: number;
}

/** `undefined`: the row is gone. */
export async function readQuery({ db }: Tx, queryId: string): Promise<QueryRows | undefined> {
  const query = await db
    .selectFrom("queries")
    .selectAll()
    .select(sql<number>`now_ms()`.as("now_ms"))
    .where("query_id", "=", queryId)
    .executeTakeFirst();
  if (query === undefined) return undefined;
  const { now_ms: nowMs, ...row } = query;
  const fragments = await db
    .selectFrom("query_fragments")
    .selectAll()
    .where("query_id", "=", queryId)
    .orderBy("fragment_id")
    .execute();
  const cleanups = await db
    .selectFrom("query_cleanups")
    .select(["worker_id", "epoch"])
    .where("query_id", "=", queryId)
    .orderBy("worker_id")
    .execute();
  const predecessor = await db
    .selectFrom("queries")
    .select("query_id")
    .where("superseded_by", "=", queryId)
    .where("query_id", "!=", queryId)
    .executeTakeFirst();
  const leaving = await db
    .selectFrom("query_fragments")
    .innerJoin("workers", "workers.worker_id", "query_fragments.worker_id")
    .select("workers.worker_id")
    .distinct()
    .where("query_id", "=", queryId)
    .where((where) => where.or([where("draining", "=", 1), where("drain_requested", "=", 1)]))
    .orderBy("workers.worker_id")
    .execute();
  return {
    leaving: leaving.map(({ worker_id }) => worker_id),
    query: row,
    fragments,
    predecessor: predecessor?.query_id,
    cleanups: cleanups.map(({ worker_id: workerId, epoch }) => ({ workerId, epoch })),
    nowMs,
  };
}

/** Whether the catalog is as it was when a decision was made, but for the clock. */
export function isSameQuery(one: QueryRows, other: QueryRows | undefined): boolean {
  const text = ({ nowMs: _, ...rows }: QueryRows): string => JSON.stringify(rows);
  return other !== undefined && text(one) === text(other);
}
