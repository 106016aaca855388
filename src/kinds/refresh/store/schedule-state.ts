/** Reads the scheduler's state from the store, and writes its decisions. */

import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { CatalogTx, Tx } from "../../../ground/store/index.ts";
import type {
  FailingTable,
  ScheduleDecision,
  ScheduledPending,
  ScheduledTable,
  ScheduledTarget,
} from "../core/index.ts";
import type { PendingRefreshesTable } from "../core/tables.ts";
import { pinNeeded, type SnapshotPins } from "./needed-snapshots.ts";
import {
  abandonTargets,
  addTarget,
  markReady,
  moveCursors,
  recordVersion,
} from "./pending-work.ts";
import { recordRefresh } from "./refresh-history.ts";
import {
  type DynamicTableRow,
  dynamicTableOf,
  groupSources,
  readRows,
  readSources,
  requireRow,
  type SourceRow,
  snapshotOf,
} from "./table-rows.ts";

export async function readScheduledTables(tx: Tx): Promise<readonly ScheduledTable[]> {
  const { db } = tx;
  const sources = groupSources(await readSources(tx));
  const pendings = await db.selectFrom("pending_refreshes").selectAll().execute();
  const queued = await db
    .selectFrom("queued_refreshes")
    .select(({ fn }) => ["table_id", fn.max("target_snapshot").as("last")])
    .groupBy("table_id")
    .execute();
  const claims = await db.selectFrom("refresh_claims").select("dynamic_table").execute();
  const pendingOf = new Map(pendings.map((pending) => [pending.table_id, pending]));
  const lastOf = new Map(queued.map(({ table_id, last }) => [table_id, last]));
  const claimed = new Set(claims.map(({ dynamic_table }) => dynamic_table));
  return (await readRows(tx)).map((row) =>
    scheduledTable(row, sources.get(row.table_id) ?? [], {
      pending: pendingOf.get(row.table_id),
      lastQueued: lastOf.get(row.table_id),
      isClaimed: claimed.has(row.dynamic_table),
    }),
  );
}

interface TableWork {
  readonly pending: PendingRefreshesTable | undefined;
  readonly lastQueued: number | undefined;
  readonly isClaimed: boolean;
}

function scheduledTable(
  row: DynamicTableRow,
  sources: readonly SourceRow[],
  { pending, lastQueued, isClaimed }: TableWork,
): ScheduledTable {
  const table = dynamicTableOf(row, sources);
  return {
    tableId: table.tableId,
    label: row.dynamic_table,
    sources: table.sources,
    targetLag: table.targetLag,
    status: table.status,
    statusReason: table.statusReason,
    isVolatile: row.is_volatile === 1,
    cursors: new Map(
      sources.map((source) => [
        source.source_table_id as TableId,
        snapshotOf(source.cursor_snapshot),
      ]),
    ),
    dataSnapshot: table.dataSnapshot,
    dataTimeMs: table.dataTimeMs,
    publishedSnapshot: snapshotOf(row.published_snapshot),
    requestedAtMs: row.requested_at_ms ?? undefined,
    lateSinceMs: row.late_since_ms ?? undefined,
    waitReason: row.wait_reason,
    lastError: row.last_error ?? undefined,
    failing: failingTable(row, sources),
    expectedDurationMs: row.expected_duration_ms,
    expectedResponseMs: row.expected_response_ms,
    createdAtMs: row.created_at_ms,
    pending: pending === undefined ? undefined : scheduledPending(pending, lastQueued),
    isClaimed,
  };
}

function failingTable(
  row: DynamicTableRow,
  sources: readonly SourceRow[],
): FailingTable | undefined {
  if (row.failing_since_ms === null) return undefined;
  return {
    readSnapshots: new Map(
      sources.map((source) => [
        source.source_table_id as TableId,
        snapshotOf(source.failed_snapshot),
      ]),
    ),
    missingPath: row.missing_path ?? undefined,
    changedRetryAtMs: row.retry_changed_at_ms ?? 0,
    retryAtMs: row.retry_at_ms ?? undefined,
  };
}

function scheduledPending(
  pending: PendingRefreshesTable,
  lastQueued: number | undefined,
): ScheduledPending {
  return {
    trigger: pending.refresh_trigger,
    priority: pending.priority,
    attempts: pending.attempts,
    notBeforeMs: pending.not_before_ms,
    isRequested: pending.request_seq > pending.target_seq,
    isOwed: pending.request_seq > pending.done_seq,
    targetSnapshot: snapshotOf(pending.target_snapshot),
    targetTimeMs: pending.target_time_ms ?? undefined,
    readyAtMs: pending.ready_at_ms ?? undefined,
    lastQueuedSnapshot: lastQueued === undefined ? undefined : (lastQueued as SnapshotId),
  };
}

export function isEmptyDecision(decision: ScheduleDecision): boolean {
  const { abandoned, targets, unchanged, lateness, waits } = decision;
  return [abandoned, targets, unchanged, lateness, waits].every((list) => list.length === 0);
}

/** The snapshot and time that the decision was made for. */
export interface ScheduleMoment {
  readonly snapshot: SnapshotId;
  readonly timeMs: number;
  readonly historyRows: number;
  readonly pins: SnapshotPins | undefined;
}

export async function applyDecision(
  tx: CatalogTx,
  decision: ScheduleDecision,
  moment: ScheduleMoment,
): Promise<void> {
  for (const tableId of decision.abandoned) await abandonTargets(tx, await requireRow(tx, tableId));
  for (const target of decision.unchanged) await advanceUnchanged(tx, target, moment);
  for (const target of decision.targets) {
    const { snapshot, timeMs } = moment;
    await addTarget(tx, await requireRow(tx, target.tableId), { ...target, snapshot, timeMs });
  }
  for (const { tableId, reason } of decision.waits) {
    const { dynamic_table } = await requireRow(tx, tableId);
    await tx.update("dynamic_tables", dynamic_table, { wait_reason: reason });
  }
  for (const { tableId, lateSinceMs } of decision.lateness) {
    const { dynamic_table, lag_missed_count } = await requireRow(tx, tableId);
    await tx.update("dynamic_tables", dynamic_table, {
      late_since_ms: lateSinceMs ?? null,
      lag_missed_count: lag_missed_count + (lateSinceMs === undefined ? 0 : 1),
    });
  }
  if (decision.targets.length > 0) await markReady(tx);
  const moved = [...decision.unchanged, ...decision.targets].map(({ tableId }) => tableId);
  await pinNeeded(tx, moment.pins, [...decision.abandoned, ...moved]);
}

/** NO_DATA without a worker: its contents are also those of the newer snapshot. */
async function advanceUnchanged(
  tx: CatalogTx,
  { tableId, trigger, satisfiesRequests }: ScheduledTarget,
  { snapshot, timeMs, historyRows }: ScheduleMoment,
): Promise<void> {
  const row = await requireRow(tx, tableId);
  const published = row.published_snapshot;
  if (published === null) return;
  if (satisfiesRequests) {
    // Only requests can be pending: a table with a target is not advanced.
    await tx.db.deleteFrom("pending_refreshes").where("table_id", "=", tableId).execute();
  }
  await tx.update("dynamic_tables", row.dynamic_table, {
    data_snapshot: snapshot,
    data_time_ms: timeMs,
    last_refresh_state: "SUCCEEDED",
    last_refresh_action: "NO_DATA",
    last_refresh_at_ms: timeMs,
  });
  await moveCursors(tx, tableId, snapshot);
  await recordVersion(tx, tableId, snapshot, published);
  const entry = {
    dynamic_table: row.dynamic_table,
    table_id: tableId,
    token: 0,
    state: "SUCCEEDED",
    action: "NO_DATA",
    refresh_trigger: trigger,
    attempt: 1,
    started_at_ms: timeMs,
    ended_at_ms: timeMs,
    source_snapshot: snapshot,
    data_time_ms: timeMs,
    snapshot: null,
    rows_inserted: 0,
    rows_deleted: 0,
    reason: "",
    compute_ms: null,
    changed_rows: null,
    total_rows: null,
    part_count: 1,
    worker_count: 1,
    worker_id: "",
    error_code: null,
    error_message: null,
  } as const;
  await recordRefresh(tx, entry, historyRows);
}
