/**
 * How a refresh ends. Each function runs in a catalog transaction, and its caller has checked who
 * holds the claim.
 */

import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { assert } from "../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { RefreshedData, RefreshFailure } from "../core/index.ts";
import type { ClaimSettings } from "./claim-settings.ts";
import { pinNeeded } from "./needed-snapshots.ts";
import {
  findPending,
  finishTarget,
  markReady,
  moveCursors,
  recordFailedRead,
  recordVersion,
} from "./pending-work.ts";
import { expectedTimes, type HistoryEntry, recordRefresh } from "./refresh-history.ts";
import { markFailed, resumeFollowers, suspendTable } from "./suspension.ts";
import { type DynamicTableRow, isStopped, notFailing, requireRow } from "./table-rows.ts";

const changedPauseMsMax = 30_000;

export interface HeldClaim {
  readonly dynamic_table: string;
  readonly table_id: number;
  readonly worker_id: string;
  readonly token: number;
  readonly attempt: number;
  readonly claimed_at_ms: number;
}

/** What the table holds after the refresh. */
export interface ReachedData {
  readonly action: "FULL" | "INCREMENTAL" | "NO_DATA";
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  readonly reason?: RefreshedData["reason"];
  readonly cost?: RefreshedData["cost"];
  readonly parts?: RefreshedData["parts"];
  /** The lake's snapshot that has the contents. */
  readonly snapshot: SnapshotId;
}

/** The target is reached: updates cursors, history and next target, and ends the claim. */
export async function finishRefresh(
  tx: CatalogTx,
  claim: HeldClaim,
  reached: ReachedData,
  settings: ClaimSettings,
): Promise<void> {
  const row = await requireRow(tx, claim.table_id as TableId);
  const pending = await findPending(tx, claim.table_id);
  assert(pending !== undefined, "what is claimed is pending");
  const { target_snapshot, target_time_ms } = pending;
  assert(target_snapshot !== null && target_time_ms !== null, "what is claimed has a target");
  await endClaim(tx, claim);
  const entry = {
    ...historyOf(row, claim, await tx.nowMs()),
    state: "SUCCEEDED",
    action: reached.action,
    refresh_trigger: pending.refresh_trigger,
    source_snapshot: target_snapshot,
    data_time_ms: target_time_ms,
    snapshot: reached.action === "NO_DATA" ? null : reached.snapshot,
    rows_inserted: reached.rowsInserted,
    rows_deleted: reached.rowsDeleted,
    reason: reached.reason ?? "",
    ...costColumns(reached.cost),
    part_count: reached.parts?.partCount ?? 1,
    worker_count: reached.parts?.workerCount ?? 1,
  } as const;
  await recordRefresh(tx, entry, settings.historyRows);
  await moveCursors(tx, row.table_id, target_snapshot);
  const next = await finishTarget(tx, pending);
  await tx.update("dynamic_tables", row.dynamic_table, {
    status: "ACTIVE",
    status_reason: "",
    suspended_by: null,
    ...notFailing,
    data_snapshot: target_snapshot,
    data_time_ms: target_time_ms,
    published_snapshot: reached.snapshot,
    target_snapshot: next,
    failures_in_a_row: 0,
    last_error: null,
    ...ended("SUCCEEDED", entry.ended_at_ms, reached.action),
    ...(reached.action === "NO_DATA" ? {} : await expectedTimes(tx, row.dynamic_table)),
  });
  await recordVersion(tx, row.table_id, target_snapshot, reached.snapshot);
  if (isStopped(row)) await resumeFollowers(tx, row.table_id as TableId);
  await markReady(tx);
  await pinNeeded(tx, settings.pins, [row.table_id]);
}

/**
 * Records a failed attempt, which is repeated after a pause. If the definition or a value is at
 * fault, the table becomes FAILED and is tried again when a source changes. If failures last for
 * `suspendAfterMs`, it becomes SUSPENDED and is tried rarely (TC10 to TC12).
 */
export async function failRefresh(
  tx: CatalogTx,
  claim: HeldClaim,
  failure: RefreshFailure,
  settings: ClaimSettings,
): Promise<void> {
  const row = await requireRow(tx, claim.table_id as TableId);
  const pending = await findPending(tx, claim.table_id);
  const nowMs = await tx.nowMs();
  await recordUnfinished(tx, row, claim, "FAILED", failure, settings);
  await endClaim(tx, claim);
  await recordFailedRead(tx, row.table_id, pending?.target_snapshot ?? null);
  const failures = row.failures_in_a_row + 1;
  const failingSinceMs = row.failing_since_ms ?? nowMs;
  const isTooLong = nowMs - failingSinceMs >= settings.suspendAfterMs;
  // A permanent error repeats itself, unless the definition is volatile.
  const retriesByTime = failure.isPermanent ? row.is_volatile === 1 : isTooLong;
  const reason = `${failure.code}: ${failure.message}`;
  const delayMs = pauseMs(failures, settings);
  await tx.db
    .updateTable("pending_refreshes")
    .set(({ eb }) => ({ attempts: eb("attempts", "+", 1), not_before_ms: nowMs + delayMs }))
    .where("table_id", "=", row.table_id)
    .execute();
  await tx.update("dynamic_tables", row.dynamic_table, {
    failures_in_a_row: failures,
    failing_since_ms: failingSinceMs,
    retry_at_ms: retriesByTime ? nowMs + seldomMs(failures, settings) : null,
    retry_changed_at_ms: nowMs + changedMs(failures, settings),
    missing_path: failure.missingPath ?? null,
    last_error: reason,
    ...ended("FAILED", nowMs),
  });
  const tableId = row.table_id as TableId;
  if (failure.isPermanent) {
    await markFailed(tx, tableId, reason);
  } else if (isTooLong) {
    const minutes = formatMinutes(nowMs - failingSinceMs);
    const times = failures === 1 ? "1 refresh" : `${failures} refreshes`;
    await suspendTable(
      tx,
      tableId,
      `${times} in a row failed within ${minutes}, the last with ${reason}`,
      "heals",
    );
  } else if (row.status === "FAILED") {
    await tx.update("dynamic_tables", row.dynamic_table, { status_reason: reason });
  }
}

/** The pause before a stopped table is tried again by time alone. */
function seldomMs(failures: number, settings: ClaimSettings): number {
  return pauseMs(failures, settings, settings.seldomMsMax);
}

/**
 * The pause before a changed source is a reason to try again, so that a source that changes all the
 * time does not keep a worker busy.
 */
function changedMs(failures: number, settings: ClaimSettings): number {
  return pauseMs(failures, settings, Math.min(settings.backoff.maxMs, changedPauseMsMax));
}

/** In whole milliseconds, as the store needs them. */
function pauseMs(
  failures: number,
  { prng, backoff }: ClaimSettings,
  maxMs: number = backoff.maxMs,
): number {
  return Math.ceil(backoffMs({ ...backoff, maxMs }, failures, prng.next()));
}

function formatMinutes(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

/**
 * The worker was lost, or was silent for the length of the lease. The first time, another worker
 * may claim the refresh at once. A table that keeps losing workers waits longer each time and is
 * finally suspended. A stopped table that was only tried loses no second worker (TC13).
 */
export async function loseRefresh(
  tx: CatalogTx,
  claim: HeldClaim,
  why: string,
  settings: ClaimSettings,
): Promise<void> {
  const row = await requireRow(tx, claim.table_id as TableId);
  const pending = await findPending(tx, claim.table_id);
  assert(pending !== undefined, "what is claimed is pending");
  const nowMs = await tx.nowMs();
  const error = { code: "worker_lost", message: why };
  await recordUnfinished(tx, row, claim, "FAILED", error, settings);
  await endClaim(tx, claim);
  const losses = pending.losses + 1;
  const delayMs = pauseMs(losses - 1, settings);
  await tx.db
    .updateTable("pending_refreshes")
    .set({ attempts: pending.attempts + 1, losses, not_before_ms: nowMs + delayMs })
    .where("table_id", "=", row.table_id)
    .execute();
  await tx.update("dynamic_tables", row.dynamic_table, {
    last_error: `worker_lost: ${why}`,
    ...ended("FAILED", nowMs),
  });
  if (losses < settings.lossesMax && !isStopped(row)) return;
  const many = losses === 1 ? "a worker was lost" : `${losses} workers in a row were lost`;
  const reason = `${many} while refreshing it, the last: ${why}`;
  const failures = row.failures_in_a_row + losses;
  await recordFailedRead(tx, row.table_id, pending.target_snapshot);
  await tx.update("dynamic_tables", row.dynamic_table, {
    failures_in_a_row: failures,
    failing_since_ms: row.failing_since_ms ?? nowMs,
    retry_at_ms: nowMs + seldomMs(failures, settings),
    retry_changed_at_ms: nowMs + changedMs(failures, settings),
  });
  await suspendTable(tx, row.table_id as TableId, reason, "heals");
}

/** Given back without a result: it can be claimed at once. */
export async function returnRefresh(
  tx: CatalogTx,
  claim: HeldClaim,
  why: string,
  settings: ClaimSettings,
): Promise<void> {
  const row = await requireRow(tx, claim.table_id as TableId);
  const error = { code: "cancelled", message: why };
  await recordUnfinished(tx, row, claim, "CANCELLED", error, settings);
  await endClaim(tx, claim);
  // A logged change, so that waiting workers are poked.
  await tx.update("dynamic_tables", row.dynamic_table, {
    ...ended("CANCELLED", await tx.nowMs()),
  });
}

/** The columns of a table whose refresh has just ended. No parts are under way. */
function ended(
  state: DynamicTableRow["last_refresh_state"],
  atMs: number,
  action: DynamicTableRow["last_refresh_action"] = null,
) {
  return {
    last_refresh_state: state,
    last_refresh_action: action,
    last_refresh_at_ms: atMs,
    part_count: 0,
    part_done_count: 0,
  };
}

/** Ends the claim, and with it its subtasks. */
async function endClaim({ db }: CatalogTx, { dynamic_table, token }: HeldClaim): Promise<void> {
  await db
    .deleteFrom("refresh_claims")
    .where("dynamic_table", "=", dynamic_table)
    .where("token", "=", token)
    .execute();
}

async function recordUnfinished(
  tx: CatalogTx,
  row: DynamicTableRow,
  claim: HeldClaim,
  state: "FAILED" | "CANCELLED",
  error: { readonly code: string; readonly message: string },
  settings: ClaimSettings,
): Promise<void> {
  const pending = await findPending(tx, claim.table_id);
  const entry = {
    ...historyOf(row, claim, await tx.nowMs()),
    state,
    action: null,
    refresh_trigger: pending?.refresh_trigger ?? "SCHEDULED",
    source_snapshot: pending?.target_snapshot ?? null,
    data_time_ms: row.data_time_ms,
    snapshot: null,
    rows_inserted: 0,
    rows_deleted: 0,
    reason: "",
    ...costColumns(undefined),
    part_count: 1,
    worker_count: 1,
    error_code: error.code,
    error_message: error.message,
  } as const;
  await recordRefresh(tx, entry, settings.historyRows);
}

function costColumns(cost: RefreshedData["cost"]) {
  return {
    compute_ms: cost === undefined ? null : Math.max(0, Math.round(cost.durationMs)),
    changed_rows: cost?.changedRows ?? null,
    total_rows: cost?.totalRows ?? null,
  };
}

function historyOf(row: DynamicTableRow, claim: HeldClaim, nowMs: number) {
  return {
    dynamic_table: row.dynamic_table,
    table_id: row.table_id,
    token: claim.token,
    attempt: claim.attempt,
    worker_id: claim.worker_id,
    started_at_ms: claim.claimed_at_ms,
    ended_at_ms: nowMs,
    error_code: null,
    error_message: null,
  } satisfies Partial<HistoryEntry>;
}
