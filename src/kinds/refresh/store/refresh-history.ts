/**
 * The newest refreshes of each table. A run of NO_DATA refreshes is one row. Otherwise a table that
 * is checked every second and changes once a day would lose its only real refresh.
 */

import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { RefreshCost, RefreshRecord } from "../core/index.ts";
import type { DynamicTablesTable, RefreshHistoryTable } from "../core/tables.ts";
import { snapshotOf } from "./table-rows.ts";

export const historyRowsDefault = 500;

/** The number of refreshes that the expected duration is learnt from. */
const samplesMax = 20;

export type HistoryEntry = Omit<RefreshHistoryTable, "refresh_number" | "repeats">;

/** A refresh as it is shown. */
export interface RefreshHistoryRecord extends RefreshRecord {
  readonly dynamicTable: string;
  /** Counts from 1 without gaps, for each table. */
  readonly number: number;
  readonly attempt: number;
  /** The number of consecutive refreshes that found nothing to do. */
  readonly repeats: number;
  /** The time that the contents were as of, after the refresh. */
  readonly dataTimeMs: number | undefined;
}

export async function recordRefresh(
  { db }: Tx,
  entry: HistoryEntry,
  rowsMax: number,
): Promise<void> {
  const last = await db
    .selectFrom("refresh_history")
    .selectAll()
    .where("dynamic_table", "=", entry.dynamic_table)
    .orderBy("refresh_number", "desc")
    .limit(1)
    .executeTakeFirst();
  if (last !== undefined && isNoData(last) && isNoData(entry)) {
    const { ended_at_ms, source_snapshot, data_time_ms, token, worker_id } = entry;
    await db
      .updateTable("refresh_history")
      .set({
        ended_at_ms,
        source_snapshot,
        data_time_ms,
        token,
        worker_id,
        repeats: last.repeats + 1,
      })
      .where("dynamic_table", "=", entry.dynamic_table)
      .where("refresh_number", "=", last.refresh_number)
      .execute();
    return;
  }
  const number = (last?.refresh_number ?? 0) + 1;
  await db
    .insertInto("refresh_history")
    .values({ ...entry, refresh_number: number, repeats: 1 })
    .execute();
  if (number <= rowsMax) return;
  await db
    .deleteFrom("refresh_history")
    .where("dynamic_table", "=", entry.dynamic_table)
    .where("refresh_number", "<=", number - rowsMax)
    .execute();
}

function isNoData({ state, action }: Pick<RefreshHistoryTable, "state" | "action">): boolean {
  return state === "SUCCEEDED" && action === "NO_DATA";
}

/** The 90th percentile of refreshes that did something. The response counts first attempts only. */
export async function expectedTimes(
  { db }: Tx,
  dynamicTable: string,
): Promise<Pick<DynamicTablesTable, "expected_duration_ms" | "expected_response_ms">> {
  const rows = await db
    .selectFrom("refresh_history")
    .select(["started_at_ms", "ended_at_ms", "data_time_ms", "attempt"])
    .where("dynamic_table", "=", dynamicTable)
    .where("state", "=", "SUCCEEDED")
    .where("action", "in", ["FULL", "INCREMENTAL"])
    .orderBy("refresh_number", "desc")
    .limit(samplesMax)
    .execute();
  const direct = rows.filter(({ attempt }) => attempt === 1);
  return {
    expected_duration_ms: usually(rows.map((row) => row.ended_at_ms - row.started_at_ms)),
    expected_response_ms: usually(
      direct.map((row) => row.ended_at_ms - (row.data_time_ms ?? row.started_at_ms)),
    ),
  };
}

function usually(durations: readonly number[]): number {
  const ordered = durations.map((ms) => Math.max(0, ms)).sort((left, right) => left - right);
  return ordered[Math.ceil(ordered.length * 0.9) - 1] ?? 0;
}

/** The number of newest refreshes that AUTO learns from. */
const experienceMax = 100;

/** Costs of this definition's refreshes, newest last. A replaced definition starts anew. */
export async function readExperience(
  { db }: Tx,
  { dynamic_table, table_id }: Pick<RefreshHistoryTable, "dynamic_table" | "table_id">,
): Promise<readonly RefreshCost[]> {
  const rows = await db
    .selectFrom("refresh_history")
    .select(["action", "compute_ms", "changed_rows", "total_rows"])
    .where("dynamic_table", "=", dynamic_table)
    .where("table_id", "=", table_id)
    .where("state", "=", "SUCCEEDED")
    .where("compute_ms", "is not", null)
    .orderBy("refresh_number", "desc")
    .limit(experienceMax)
    .execute();
  return rows
    .flatMap(({ action, compute_ms, changed_rows, total_rows }): RefreshCost[] => {
      if (action !== "FULL" && action !== "INCREMENTAL") return [];
      return [
        {
          action,
          durationMs: compute_ms ?? 0,
          changedRows: changed_rows ?? 0,
          totalRows: total_rows ?? 0,
        },
      ];
    })
    .reverse();
}

/** Gives the duration of each refresh that did something once, from the first call on (TG16). */
export class RefreshDurations {
  #fromMs: number | undefined;
  #told = new Set<string>();

  /** In seconds. */
  async next(tx: Tx): Promise<readonly number[]> {
    const fromMs = this.#fromMs;
    if (fromMs === undefined) {
      this.#fromMs = await readNowMs(tx);
      return [];
    }
    const rows = await tx.db
      .selectFrom("refresh_history")
      .select(["dynamic_table", "token", "started_at_ms", "ended_at_ms"])
      .where("state", "=", "SUCCEEDED")
      .where("action", "in", ["FULL", "INCREMENTAL"])
      .where("ended_at_ms", ">=", fromMs)
      .orderBy("ended_at_ms")
      .execute();
    const keyOf = (row: (typeof rows)[number]) => `${row.dynamic_table}/${row.token}`;
    const fresh = rows.filter((row) => !this.#told.has(keyOf(row)));
    const lastMs = rows.at(-1)?.ended_at_ms ?? fromMs;
    this.#fromMs = lastMs;
    // Refreshes that ended before `lastMs` are not read again.
    this.#told = new Set(rows.filter((row) => row.ended_at_ms === lastMs).map(keyOf));
    return fresh.map((row) => Math.max(0, row.ended_at_ms - row.started_at_ms) / 1_000);
  }
}

/** The database's clock, which all these times use. */
export async function readNowMs({ db }: Tx): Promise<number> {
  const found = await sql<{ now: number }>`SELECT now_ms() AS now`.execute(db);
  return found.rows[0]?.now ?? 0;
}

export interface HistoryRequest {
  /** Undefined for all tables. */
  readonly dynamicTable?: string | undefined;
  readonly limit: number;
  /** With one table: only refreshes with lower numbers. */
  readonly before?: number | undefined;
}

/** The newest first: by number for one table, by end time for all. */
export async function readRefreshHistory(
  { db }: Tx,
  { dynamicTable, limit, before }: HistoryRequest,
): Promise<readonly RefreshHistoryRecord[]> {
  const all = db.selectFrom("refresh_history").selectAll().limit(limit);
  if (dynamicTable === undefined) {
    const newest = all
      .orderBy("ended_at_ms", "desc")
      .orderBy("dynamic_table")
      .orderBy("refresh_number", "desc");
    return (await newest.execute()).map(recordOf);
  }
  let ofOne = all.where("dynamic_table", "=", dynamicTable).orderBy("refresh_number", "desc");
  if (before !== undefined) ofOne = ofOne.where("refresh_number", "<", before);
  return (await ofOne.execute()).map(recordOf);
}

function recordOf(row: RefreshHistoryTable): RefreshHistoryRecord {
  const { error_code, error_message } = row;
  return {
    dynamicTable: row.dynamic_table,
    number: row.refresh_number,
    tableId: row.table_id as TableId,
    token: row.token,
    state: row.state,
    action: row.action ?? undefined,
    trigger: row.refresh_trigger,
    attempt: row.attempt,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    sourceSnapshot: snapshotOf(row.source_snapshot),
    snapshot: row.snapshot === null ? undefined : (row.snapshot as SnapshotId),
    dataTimeMs: row.data_time_ms ?? undefined,
    rowsInserted: row.rows_inserted,
    rowsDeleted: row.rows_deleted,
    reason: row.reason,
    partCount: row.part_count,
    workerCount: row.worker_count,
    workerId: row.worker_id,
    error:
      error_code === null || error_message === null
        ? undefined
        : { code: error_code, message: error_message },
    repeats: row.repeats,
  };
}
