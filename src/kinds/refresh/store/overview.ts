/** Reads for SHOW DYNAMIC TABLES, the Tables page, metrics and autoscaling. */
import { sql } from "kysely";
import type { TableId } from "../../../data/lake/core/index.ts";
import type { Tx } from "../../../ground/store/index.ts";
import {
  type DynamicTable,
  dueAtMs,
  effectiveLagMs,
  freshAtMs,
  type RefreshAction,
  type RefreshState,
  TableGraph,
  type TableStatus,
} from "../core/index.ts";
import { readNowMs } from "./refresh-history.ts";
import { readScheduledTables } from "./schedule-state.ts";
import {
  dynamicTableOf,
  groupSources,
  isStopped,
  readGraph,
  readRows,
  readSources,
} from "./table-rows.ts";

export interface TableOverview extends DynamicTable {
  /** The name as people write it. */
  readonly label: string;
  /** By the database's clock. Undefined without contents. */
  readonly lagMs: number | undefined;
  /** Its target lag, or its readers' strictest for DOWNSTREAM. Undefined: nobody needs it. */
  readonly effectiveLagMs: number | undefined;
  /** Since when its lag has exceeded its target. Undefined while it does not. */
  readonly lateSinceMs: number | undefined;
  readonly lagMissedCount: number;
  /** What it waits for, when something is wrong. */
  readonly waitReason: string;
  /** `queued` when it has a target, `refreshing` when a worker has claimed it. */
  readonly activity: "idle" | "queued" | "refreshing";
  readonly refreshedBy: string | undefined;
  /** The parts of the refresh under way. Undefined when it was not split. */
  readonly parts: { readonly count: number; readonly doneCount: number } | undefined;
  /** Undefined when only its readers make it due. */
  readonly nextDueMs: number | undefined;
  readonly lastRefresh:
    | {
        readonly state: RefreshState;
        readonly action: RefreshAction | undefined;
        readonly atMs: number;
      }
    | undefined;
  readonly lastError: string | undefined;
  readonly expectedDurationMs: number;
  readonly createdAtMs: number;
}

export async function readOverview(tx: Tx): Promise<readonly TableOverview[]> {
  const nowMs = await readNowMs(tx);
  const sources = groupSources(await readSources(tx));
  const scheduled = await readScheduledTables(tx);
  const graph = new TableGraph(scheduled);
  const scheduledOf = new Map(scheduled.map((table) => [table.label, table]));
  const claims = await tx.db
    .selectFrom("refresh_claims")
    .select(["dynamic_table", "worker_id"])
    .execute();
  const holderOf = new Map(claims.map((claim) => [claim.dynamic_table, claim.worker_id]));
  return (await readRows(tx)).flatMap((row) => {
    const table = scheduledOf.get(row.dynamic_table);
    if (table === undefined) return [];
    const refreshedBy = holderOf.get(row.dynamic_table);
    const isQueued = row.target_snapshot !== null || table.pending !== undefined;
    const freshMs = freshAtMs(graph, table);
    const isRunning = table.status === "ACTIVE" || table.status === "INITIALIZING";
    return [
      {
        ...dynamicTableOf(row, sources.get(row.table_id)),
        label: row.dynamic_table,
        lagMs: freshMs === undefined ? undefined : Math.max(0, nowMs - freshMs),
        effectiveLagMs: effectiveLagMs(graph, table),
        lateSinceMs: row.late_since_ms ?? undefined,
        lagMissedCount: row.lag_missed_count,
        waitReason: row.wait_reason,
        activity: refreshedBy !== undefined ? "refreshing" : isQueued ? "queued" : "idle",
        refreshedBy,
        parts:
          row.part_count === 0
            ? undefined
            : { count: row.part_count, doneCount: row.part_done_count },
        nextDueMs: isRunning ? dueAtMs(graph, table) : undefined,
        lastRefresh:
          row.last_refresh_state === null || row.last_refresh_at_ms === null
            ? undefined
            : {
                state: row.last_refresh_state,
                action: row.last_refresh_action ?? undefined,
                atMs: row.last_refresh_at_ms,
              },
        lastError: row.last_error ?? undefined,
        expectedDurationMs: row.expected_duration_ms,
        createdAtMs: row.created_at_ms,
      },
    ];
  });
}

export interface RefreshBacklog {
  /** Refreshes that are claimed or can be claimed now, and subtasks that no worker has taken. */
  readonly pendingRefreshCount: number;
  /** Subtasks that are not done, taken or not. */
  readonly pendingPartCount: number;
  /** Refreshes that no worker could begin now, by what they wait for. */
  readonly blockedCounts: Readonly<Record<BlockedReason, number>>;
  readonly claimedCount: number;
  /** How long the oldest claimable refresh has been waiting. */
  readonly refreshBacklogSeconds: number;
  readonly lateCount: number;
  readonly lagMissedCount: number;
  readonly statusCounts: Readonly<Record<TableStatus, number>>;
  /** Lags of running tables with their own target, the latest first, `lagsMax` at most. */
  readonly lags: readonly TableLag[];
  /** Of the last refreshes that did something. Undefined without any. */
  readonly refreshDurationP95Seconds: number | undefined;
}

/**
 * `source_stopped`: a source is FAILED or SUSPENDED. `source_behind`: a source is refreshed first.
 * `backing_off`: the pause after a failure. `unscheduled`: the coordinator has not chosen its
 * snapshot yet. `queued`: behind another target of its table.
 */
export type BlockedReason =
  | "source_stopped"
  | "source_behind"
  | "backing_off"
  | "unscheduled"
  | "queued";

async function readWaiting(
  tx: Tx,
): Promise<Pick<RefreshBacklog, "pendingRefreshCount" | "pendingPartCount" | "blockedCounts">> {
  const { db } = tx;
  const { rows } = await sql<{
    table_id: number;
    has_target: number;
    is_ready: number;
    is_claimable: number;
  }>`
    SELECT p.table_id,
           CASE WHEN p.target_snapshot IS NULL THEN 0 ELSE 1 END AS has_target,
           CASE WHEN p.ready_at_ms IS NULL THEN 0 ELSE 1 END AS is_ready,
           CASE WHEN p.ready_at_ms IS NOT NULL AND (p.not_before_ms <= now_ms() OR c.token IS NOT NULL)
                THEN 1 ELSE 0 END AS is_claimable
      FROM pending_refreshes p
      LEFT JOIN refresh_claims c ON c.dynamic_table = p.dynamic_table`.execute(db);
  const counted = await sql<{ parts: number; pending: number; queued: number }>`
    SELECT (SELECT count(*) FROM refresh_subtasks WHERE state = 'WAITING') AS parts,
           (SELECT count(*) FROM refresh_subtasks WHERE state IN ('WAITING', 'CLAIMED')) AS pending,
           (SELECT count(*) FROM queued_refreshes) AS queued`.execute(db);
  const { parts = 0, pending = 0, queued = 0 } = counted.rows[0] ?? {};
  const blockedCounts = {
    source_stopped: 0,
    source_behind: 0,
    backing_off: 0,
    unscheduled: 0,
    queued,
  };
  const graph = rows.every((row) => row.is_claimable === 1) ? undefined : await readGraph(tx);
  for (const row of rows) {
    if (row.is_claimable === 1) continue;
    const above = graph?.upstreamOf(row.table_id as TableId) ?? [];
    if (row.is_ready === 1) blockedCounts.backing_off += 1;
    else if (above.some((each) => isStopped(each.row))) blockedCounts.source_stopped += 1;
    else if (row.has_target === 1) blockedCounts.source_behind += 1;
    else blockedCounts.unscheduled += 1;
  }
  const claimable = rows.filter((row) => row.is_claimable === 1).length;
  return { pendingRefreshCount: claimable + parts, pendingPartCount: pending, blockedCounts };
}

export interface TableLag {
  readonly dynamicTable: string;
  readonly lagSeconds: number;
  readonly targetLagSeconds: number;
}

/** A table's name is a label of a metric, so their number is limited. */
const lagsMax = 100;

async function readLags({ db }: Tx): Promise<readonly TableLag[]> {
  const { rows } = await sql<{ dynamic_table: string; lag_ms: number; target_lag_ms: number }>`
    SELECT dynamic_table, now_ms() - coalesce(data_time_ms, created_at_ms) AS lag_ms, target_lag_ms
      FROM dynamic_tables
     WHERE target_lag_ms IS NOT NULL AND status IN ('ACTIVE', 'INITIALIZING')
     ORDER BY coalesce(data_time_ms, created_at_ms) + target_lag_ms, dynamic_table
     LIMIT ${lagsMax}`.execute(db);
  return rows.map(({ dynamic_table, lag_ms, target_lag_ms }) => ({
    dynamicTable: dynamic_table,
    lagSeconds: Math.max(0, lag_ms) / 1_000,
    targetLagSeconds: target_lag_ms / 1_000,
  }));
}

async function countStatuses({ db }: Tx): Promise<RefreshBacklog["statusCounts"]> {
  const rows = await db
    .selectFrom("dynamic_tables")
    .select(({ fn }) => ["status", fn.countAll<number>().as("tables")])
    .groupBy("status")
    .execute();
  const none = { INITIALIZING: 0, ACTIVE: 0, SUSPENDED: 0, FAILED: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ status, tables }) => [status, tables])) };
}

/** The number of newest refreshes that count. */
const durationsMax = 200;

async function readDurationP95({ db }: Tx): Promise<number | undefined> {
  const rows = await db
    .selectFrom("refresh_history")
    .select(["started_at_ms", "ended_at_ms"])
    .where("state", "=", "SUCCEEDED")
    .where("action", "!=", "NO_DATA")
    .orderBy("ended_at_ms", "desc")
    .limit(durationsMax)
    .execute();
  const ms = rows.map((row) => row.ended_at_ms - row.started_at_ms).sort((a, b) => a - b);
  const p95 = ms[Math.ceil(ms.length * 0.95) - 1];
  return p95 === undefined ? undefined : p95 / 1000;
}

/** Reads the numbers for the coordinator's gauges. */
export async function readBacklog(tx: Tx): Promise<RefreshBacklog> {
  const { db } = tx;
  const found = await sql<{
    claimed: number;
    oldest_ms: number | null;
    late: number;
    missed: number | null;
  }>`
    SELECT (SELECT count(*) FROM refresh_claims) AS claimed,
           (SELECT now_ms() - min(p.ready_at_ms)
              FROM pending_refreshes p
             WHERE p.ready_at_ms IS NOT NULL
               AND p.not_before_ms <= now_ms()
               AND NOT EXISTS (SELECT 1 FROM refresh_claims c WHERE c.dynamic_table = p.dynamic_table)) AS oldest_ms,
           (SELECT count(*) FROM dynamic_tables WHERE late_since_ms IS NOT NULL) AS late,
           (SELECT CAST(sum(lag_missed_count) AS BIGINT) FROM dynamic_tables) AS missed`.execute(
    db,
  );
  const row = found.rows[0];
  return {
    ...(await readWaiting(tx)),
    claimedCount: row?.claimed ?? 0,
    refreshBacklogSeconds: Math.max(0, row?.oldest_ms ?? 0) / 1_000,
    lateCount: row?.late ?? 0,
    lagMissedCount: row?.missed ?? 0,
    statusCounts: await countStatuses(tx),
    lags: await readLags(tx),
    refreshDurationP95Seconds: await readDurationP95(tx),
  };
}
