/**
 * A table's pending work as rows: `pending_refreshes` (at most one per table), the targets queued
 * behind it, and the claim. Everything here runs in a catalog transaction. These are serial over
 * all processes, so statements may read before they write.
 *
 * A row in `pending_refreshes` exists only while it has a target or unsatisfied requests.
 * `dynamic_tables.target_snapshot` repeats its target. A ready target stays ready, because versions
 * are kept while a table still has to reach them.
 */

import { type RawBuilder, sql } from "kysely";
import type { CatalogTx, Tx } from "../../../ground/store/index.ts";
import { priorities, type RefreshTrigger, type ScheduledTarget } from "../core/index.ts";
import type { PendingRefreshesTable } from "../core/tables.ts";
import type { DynamicTableRow } from "./table-rows.ts";

export async function findPending(
  { db }: Tx,
  tableId: number,
): Promise<PendingRefreshesTable | undefined> {
  return await db
    .selectFrom("pending_refreshes")
    .selectAll()
    .where("table_id", "=", tableId)
    .executeTakeFirst();
}

/** Adds a request, which a target chosen later satisfies. */
export async function addRequest(
  tx: CatalogTx,
  row: DynamicTableRow,
  trigger: RefreshTrigger,
): Promise<number> {
  const nowMs = await tx.nowMs();
  await tx.db
    .insertInto("pending_refreshes")
    .values({
      dynamic_table: row.dynamic_table,
      table_id: row.table_id,
      next_refresh_due_ms: nowMs,
      priority: priorities[trigger],
      refresh_trigger: trigger,
      attempts: 0,
      losses: 0,
      not_before_ms: 0,
      request_seq: 1,
      target_seq: 0,
      done_seq: 0,
      target_snapshot: null,
      target_time_ms: null,
      ready_at_ms: null,
    })
    .onConflict((conflict) =>
      conflict.column("dynamic_table").doUpdateSet({
        request_seq: sql`pending_refreshes.request_seq + 1`,
        // A row with a target keeps its trigger. The request's trigger comes with its own target.
        refresh_trigger: sql`CASE WHEN pending_refreshes.target_snapshot IS NULL
                                  THEN excluded.refresh_trigger ELSE pending_refreshes.refresh_trigger END`,
        // Someone waits now, so a refresh that is already under way becomes more urgent, too.
        priority: sql`CASE WHEN pending_refreshes.priority > excluded.priority
                           THEN pending_refreshes.priority ELSE excluded.priority END`,
      }),
    )
    .execute();
  await tx.update("dynamic_tables", row.dynamic_table, { requested_at_ms: nowMs });
  return nowMs;
}

export interface ChosenTarget extends ScheduledTarget {
  readonly snapshot: number;
  readonly timeMs: number;
}

/** Adds a target behind those that the table has. */
export async function addTarget(
  tx: CatalogTx,
  row: DynamicTableRow,
  target: ChosenTarget,
): Promise<void> {
  const { db } = tx;
  const pending = await findPending(tx, row.table_id);
  const satisfied = target.satisfiesRequests ? (pending?.request_seq ?? 0) : 0;
  const goal = {
    target_snapshot: target.snapshot,
    target_time_ms: target.timeMs,
    next_refresh_due_ms: target.dueMs,
    priority: target.priority,
    refresh_trigger: target.trigger,
    target_seq: Math.max(satisfied, pending?.target_seq ?? 0),
  };
  if (pending === undefined) {
    await db
      .insertInto("pending_refreshes")
      .values({
        ...goal,
        dynamic_table: row.dynamic_table,
        table_id: row.table_id,
        attempts: 0,
        losses: 0,
        not_before_ms: 0,
        request_seq: 0,
        done_seq: 0,
        ready_at_ms: null,
      })
      .execute();
  } else if (pending.target_snapshot === null) {
    await db
      .updateTable("pending_refreshes")
      .set({ ...goal, ready_at_ms: null })
      .where("table_id", "=", row.table_id)
      .execute();
  } else {
    await db
      .insertInto("queued_refreshes")
      .values({ table_id: row.table_id, ...goal })
      .execute();
    return;
  }
  await tx.update("dynamic_tables", row.dynamic_table, { target_snapshot: target.snapshot });
}

/** The target was reached: continues with the next target or the remaining requests, if any. */
export async function finishTarget(
  tx: CatalogTx,
  pending: PendingRefreshesTable,
): Promise<number | null> {
  const { db } = tx;
  const next = await db
    .selectFrom("queued_refreshes")
    .selectAll()
    .where("table_id", "=", pending.table_id)
    .orderBy("target_snapshot")
    .limit(1)
    .executeTakeFirst();
  if (next !== undefined) {
    const { target_snapshot } = next;
    await db
      .deleteFrom("queued_refreshes")
      .where("table_id", "=", pending.table_id)
      .where("target_snapshot", "=", target_snapshot)
      .execute();
    await setGoal(tx, pending.table_id, {
      ...next,
      target_seq: Math.max(next.target_seq, pending.target_seq),
      done_seq: pending.target_seq,
    });
    return target_snapshot;
  }
  if (pending.request_seq > pending.target_seq) {
    await setGoal(tx, pending.table_id, {
      target_snapshot: null,
      target_time_ms: null,
      next_refresh_due_ms: await tx.nowMs(),
      priority: priorities.MANUAL,
      refresh_trigger: "MANUAL",
      target_seq: pending.target_seq,
      done_seq: pending.target_seq,
    });
  } else {
    await db.deleteFrom("pending_refreshes").where("table_id", "=", pending.table_id).execute();
  }
  return null;
}

type Goal = Pick<
  PendingRefreshesTable,
  | "target_snapshot"
  | "target_time_ms"
  | "next_refresh_due_ms"
  | "priority"
  | "refresh_trigger"
  | "target_seq"
  | "done_seq"
>;

async function setGoal({ db }: Tx, tableId: number, goal: Goal): Promise<void> {
  await db
    .updateTable("pending_refreshes")
    .set({ ...goal, ready_at_ms: null, attempts: 0, losses: 0, not_before_ms: 0 })
    .where("table_id", "=", tableId)
    .execute();
}

/** Forgets unclaimed targets. Requests stay. */
export async function abandonTargets(tx: CatalogTx, row: DynamicTableRow): Promise<void> {
  const { db } = tx;
  const pending = await findPending(tx, row.table_id);
  if (pending === undefined) return;
  await db.deleteFrom("queued_refreshes").where("table_id", "=", row.table_id).execute();
  const claim = await db
    .selectFrom("refresh_claims")
    .select("token")
    .where("dynamic_table", "=", row.dynamic_table)
    .executeTakeFirst();
  if (claim !== undefined || pending.target_snapshot === null) return;
  if (pending.request_seq > pending.done_seq) {
    await db
      .updateTable("pending_refreshes")
      .set({
        target_snapshot: null,
        target_time_ms: null,
        ready_at_ms: null,
        target_seq: pending.done_seq,
        refresh_trigger: "MANUAL",
        priority: priorities.MANUAL,
        attempts: 0,
        not_before_ms: 0,
      })
      .where("table_id", "=", row.table_id)
      .execute();
  } else {
    await db.deleteFrom("pending_refreshes").where("table_id", "=", row.table_id).execute();
  }
  await tx.update("dynamic_tables", row.dynamic_table, { target_snapshot: null });
}

/** Removes all pending work, the claim and its subtasks. Its worker then finds the claim lost. */
export async function dropWork(tx: CatalogTx, row: DynamicTableRow): Promise<void> {
  const { db } = tx;
  await db.deleteFrom("refresh_claims").where("dynamic_table", "=", row.dynamic_table).execute();
  await db.deleteFrom("queued_refreshes").where("table_id", "=", row.table_id).execute();
  await db.deleteFrom("pending_refreshes").where("table_id", "=", row.table_id).execute();
  await tx.update("dynamic_tables", row.dynamic_table, {
    target_snapshot: null,
    requested_at_ms: null,
    part_count: 0,
    part_done_count: 0,
  });
}

/** Marks targets as ready whose dynamic sources have all reached them. */
export async function markReady({ db }: Tx): Promise<void> {
  await sql`
    UPDATE pending_refreshes
       SET ready_at_ms = now_ms()
     WHERE target_snapshot IS NOT NULL
       AND ready_at_ms IS NULL
       AND NOT EXISTS (
             SELECT 1
               FROM dynamic_table_sources s
               JOIN dynamic_tables d ON d.table_id = s.source_table_id
              WHERE s.table_id = pending_refreshes.table_id
                AND NOT EXISTS (
                      SELECT 1
                        FROM dynamic_table_versions v
                       WHERE v.table_id = s.source_table_id
                         AND v.data_snapshot = pending_refreshes.target_snapshot))`.execute(db);
}

/** A source as of a lake snapshot: a plain table at it, a dynamic one at its version of it. */
function sourceAsOf(snapshot: number | null): RawBuilder<number | null> {
  return sql`
             CASE WHEN EXISTS (SELECT 1 FROM dynamic_tables d
                                WHERE d.table_id = dynamic_table_sources.source_table_id)
                  THEN (SELECT v.snapshot FROM dynamic_table_versions v
                         WHERE v.table_id = dynamic_table_sources.source_table_id
                           AND v.data_snapshot = CAST(${snapshot} AS BIGINT))
                  ELSE CAST(${snapshot} AS BIGINT) END`;
}

/** Records that the table's contents are made of its sources as of the snapshot. */
export async function moveCursors(
  { db }: Tx,
  tableId: number,
  dataSnapshot: number,
): Promise<void> {
  await sql`
    UPDATE dynamic_table_sources
       SET cursor_snapshot = ${sourceAsOf(dataSnapshot)}, failed_snapshot = NULL
     WHERE table_id = ${tableId}`.execute(db);
}

/** Records that an attempt to read the sources as of the snapshot failed. */
export async function recordFailedRead(
  { db }: Tx,
  tableId: number,
  targetSnapshot: number | null,
): Promise<void> {
  await sql`
    UPDATE dynamic_table_sources
       SET failed_snapshot = ${sourceAsOf(targetSnapshot)}
     WHERE table_id = ${tableId}`.execute(db);
}

/**
 * Records the lake snapshot that has the contents for `dataSnapshot`: the newer of the two, which
 * the lake keeps longer. Older versions are deleted, unless a reader still has to reach them.
 */
export async function recordVersion(
  { db }: Tx,
  tableId: number,
  dataSnapshot: number,
  published: number,
): Promise<void> {
  const snapshot = Math.max(dataSnapshot, published);
  await db
    .insertInto("dynamic_table_versions")
    .values({ table_id: tableId, data_snapshot: dataSnapshot, snapshot })
    .onConflict((conflict) =>
      conflict.columns(["table_id", "data_snapshot"]).doUpdateSet({ snapshot }),
    )
    .execute();
  await sql`
    DELETE FROM dynamic_table_versions
     WHERE table_id = ${tableId}
       AND data_snapshot < ${dataSnapshot}
       AND NOT EXISTS (
             SELECT 1
               FROM dynamic_table_sources s
               JOIN pending_refreshes p ON p.table_id = s.table_id
              WHERE s.source_table_id = dynamic_table_versions.table_id
                AND p.target_snapshot = dynamic_table_versions.data_snapshot)
       AND NOT EXISTS (
             SELECT 1
               FROM dynamic_table_sources s
               JOIN queued_refreshes q ON q.table_id = s.table_id
              WHERE s.source_table_id = dynamic_table_versions.table_id
                AND q.target_snapshot = dynamic_table_versions.data_snapshot)`.execute(db);
}
