/** What the scheduler looks at, and what it decides. */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { GraphNode } from "./graph.ts";
import type { RefreshRecord, TableStatus, TargetLag } from "./model.ts";

export type RefreshTrigger = RefreshRecord["trigger"];

export interface ScheduledPending {
  readonly trigger: RefreshTrigger;
  readonly priority: number;
  readonly attempts: number;
  readonly notBeforeMs: number;
  /** Requests were made that no chosen target satisfies. */
  readonly isRequested: boolean;
  /** Requests were made that no reached target satisfies. */
  readonly isOwed: boolean;
  /** `undefined`: it waits for a target. */
  readonly targetSnapshot: SnapshotId | undefined;
  readonly targetTimeMs: number | undefined;
  /** Its sources are there. `undefined`: they are not. */
  readonly readyAtMs: number | undefined;
  /** The last target behind it. */
  readonly lastQueuedSnapshot: SnapshotId | undefined;
}

/** A table whose refreshes fail, unless somebody suspended it: when it is tried again. */
export interface FailingTable {
  /**
   * By source, the snapshot that the last attempt read; `undefined`: the source is another one now.
   */
  readonly readSnapshots: ReadonlyMap<TableId, SnapshotId | undefined>;
  /** A file of the lake that the last attempt did not find. */
  readonly missingPath: string | undefined;
  /** Once a source has changed, but not before this time. */
  readonly changedRetryAtMs: number;
  /** Of a FAILED or SUSPENDED table, by time alone; `undefined`: never. */
  readonly retryAtMs: number | undefined;
}

export interface ScheduledTable extends GraphNode {
  readonly targetLag: TargetLag;
  readonly status: TableStatus;
  readonly statusReason: string;
  /** Its contents may differ although its sources do not. */
  readonly isVolatile: boolean;
  readonly cursors: ReadonlyMap<TableId, SnapshotId | undefined>;
  readonly dataSnapshot: SnapshotId | undefined;
  readonly dataTimeMs: number | undefined;
  readonly publishedSnapshot: SnapshotId | undefined;
  readonly requestedAtMs: number | undefined;
  readonly lateSinceMs: number | undefined;
  readonly waitReason: string;
  readonly lastError: string | undefined;
  /** `undefined`: its last refresh did not fail, or somebody suspended it. */
  readonly failing: FailingTable | undefined;
  readonly expectedDurationMs: number;
  /** From the moment that a target is of to its publication: waiting for workers and for sources is in it. */
  readonly expectedResponseMs: number;
  readonly createdAtMs: number;
  readonly pending: ScheduledPending | undefined;
  readonly isClaimed: boolean;
}

export interface ScheduleState {
  readonly tables: readonly ScheduledTable[];
  /** The lake's newest snapshot at `nowMs`, or a later one. */
  readonly snapshot: SnapshotId;
  /** Whether a plain table at `snapshot` may differ from what it was at `from`. */
  readonly mayHaveChanged: (source: TableId, from: SnapshotId) => boolean;
  /**
   * Whether a plain table at `snapshot` differs from what a failed attempt read at `from`. In doubt
   * it does not.
   */
  readonly hasChanged: (source: TableId, from: SnapshotId) => boolean;
  /** Whether a file of the lake that was missing is there. */
  readonly isThere: (path: string) => boolean;
}

export interface ScheduledTarget {
  readonly tableId: TableId;
  readonly trigger: RefreshTrigger;
  readonly priority: number;
  readonly dueMs: number;
  /** Reaching it satisfies the requests so far. */
  readonly satisfiesRequests: boolean;
}

export interface ScheduleDecision {
  /** Their targets that nobody works on are forgotten, so that newer ones take their place. */
  readonly abandoned: readonly TableId[];
  /** To be brought to the state's snapshot. Sources come before their readers. */
  readonly targets: readonly ScheduledTarget[];
  /** Are at the state's snapshot as they are. Sources come before their readers. */
  readonly unchanged: readonly ScheduledTarget[];
  readonly lateness: readonly {
    readonly tableId: TableId;
    readonly lateSinceMs: number | undefined;
  }[];
  readonly waits: readonly { readonly tableId: TableId; readonly reason: string }[];
  /** When time alone changes the decision; `undefined`: never. */
  readonly wakeAtMs: number | undefined;
}

export const priorities = { MANUAL: 20, INITIAL: 10, SCHEDULED: 0, DOWNSTREAM: 0 } as const;
