/** What the scheduler reads, and what it decides. */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { GraphNode } from "./graph.ts";
import type { RefreshRecord, TableStatus, TargetLag } from "./model.ts";

export type RefreshTrigger = RefreshRecord["trigger"];

export interface ScheduledPending {
  readonly trigger: RefreshTrigger;
  readonly priority: number;
  readonly attempts: number;
  readonly notBeforeMs: number;
  /** Whether there are requests that no chosen target satisfies. */
  readonly isRequested: boolean;
  /** Whether there are requests that no reached target satisfies. */
  readonly isOwed: boolean;
  /** Undefined while it waits for a target. */
  readonly targetSnapshot: SnapshotId | undefined;
  readonly targetTimeMs: number | undefined;
  /** When its sources reached the target. Undefined while they have not. */
  readonly readyAtMs: number | undefined;
  /** The last target queued behind this one. */
  readonly lastQueuedSnapshot: SnapshotId | undefined;
}

/** When a table whose refreshes fail is tried again. A table that a person suspended has none. */
export interface FailingTable {
  /** What the last attempt read, by source. Undefined for a source that was replaced. */
  readonly readSnapshots: ReadonlyMap<TableId, SnapshotId | undefined>;
  /** A lake file that the last attempt did not find. */
  readonly missingPath: string | undefined;
  /** A changed source is no reason for another attempt before this time. */
  readonly changedRetryAtMs: number;
  /** When a FAILED or SUSPENDED table is tried again by time alone. Undefined for never. */
  readonly retryAtMs: number | undefined;
}

export interface ScheduledTable extends GraphNode {
  readonly targetLag: TargetLag;
  readonly status: TableStatus;
  readonly statusReason: string;
  /** Its contents may change even when its sources do not. */
  readonly isVolatile: boolean;
  readonly cursors: ReadonlyMap<TableId, SnapshotId | undefined>;
  readonly dataSnapshot: SnapshotId | undefined;
  readonly dataTimeMs: number | undefined;
  readonly publishedSnapshot: SnapshotId | undefined;
  readonly requestedAtMs: number | undefined;
  readonly lateSinceMs: number | undefined;
  readonly waitReason: string;
  readonly lastError: string | undefined;
  /** Undefined when its last refresh did not fail, or a person suspended it. */
  readonly failing: FailingTable | undefined;
  readonly expectedDurationMs: number;
  /** From the target's moment to its publication, including the wait for workers and sources. */
  readonly expectedResponseMs: number;
  readonly createdAtMs: number;
  readonly pending: ScheduledPending | undefined;
  readonly isClaimed: boolean;
}

export interface ScheduleState {
  readonly tables: readonly ScheduledTable[];
  /** The lake's newest snapshot at `nowMs`, or a later one. */
  readonly snapshot: SnapshotId;
  /** Whether a plain table may differ between `from` and `snapshot`. */
  readonly mayHaveChanged: (source: TableId, from: SnapshotId) => boolean;
  /**
   * Whether a plain table at `snapshot` differs from what a failed attempt read at `from`. False
   * when that is unknown.
   */
  readonly hasChanged: (source: TableId, from: SnapshotId) => boolean;
  /** Whether a lake file that was missing exists again. */
  readonly isThere: (path: string) => boolean;
}

export interface ScheduledTarget {
  readonly tableId: TableId;
  readonly trigger: RefreshTrigger;
  readonly priority: number;
  readonly dueMs: number;
  /** Whether reaching it satisfies all requests made so far. */
  readonly satisfiesRequests: boolean;
}

export interface ScheduleDecision {
  /** Tables whose unclaimed targets are forgotten, so that newer ones replace them. */
  readonly abandoned: readonly TableId[];
  /** Targets at the state's snapshot. Sources come before their readers. */
  readonly targets: readonly ScheduledTarget[];
  /** Tables that are at the state's snapshot without a refresh, sources before readers. */
  readonly unchanged: readonly ScheduledTarget[];
  readonly lateness: readonly {
    readonly tableId: TableId;
    readonly lateSinceMs: number | undefined;
  }[];
  readonly waits: readonly { readonly tableId: TableId; readonly reason: string }[];
  /** When time alone changes the decision. Undefined for never. */
  readonly wakeAtMs: number | undefined;
}

export const priorities = { MANUAL: 20, INITIAL: 10, SCHEDULED: 0, DOWNSTREAM: 0 } as const;
