/** Dynamic tables: what is known of one, and of one refresh of it. Names of states and columns are the specification's. */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";

export type TableStatus = "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
export type RefreshMode = "FULL" | "INCREMENTAL";
/** `NO_DATA`: its sources had not changed. */
export type RefreshAction = "FULL" | "INCREMENTAL" | "NO_DATA";
export type RefreshState = "SUCCEEDED" | "FAILED" | "CANCELLED";
export type TargetLag =
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "downstream" };

export interface DynamicTable {
  readonly tableId: TableId;
  readonly schema: string;
  readonly name: string;
  /** The SELECT. */
  readonly definition: string;
  readonly targetLag: TargetLag;
  readonly modeWish: "AUTO" | RefreshMode;
  /** What AUTO, or the wish, comes to; and why. */
  readonly mode: RefreshMode;
  readonly modeReason: string;
  /** It uses functions whose result changes by itself: it is computed although its sources stay the same. */
  readonly isVolatile: boolean;
  readonly status: TableStatus;
  /** Why it is suspended or failed. */
  readonly statusReason: string;
  /** Tables that it reads, dynamic ones among them. */
  readonly sources: readonly TableId[];
  /** Its contents are those of this snapshot of its sources; `undefined`: never refreshed. */
  readonly dataSnapshot: SnapshotId | undefined;
  /** When that was, by the database's clock. Lag is now minus this. */
  readonly dataTimeMs: number | undefined;
  readonly failuresInARow: number;
}

/** A claim on one refresh. Whoever holds an older token publishes nothing. */
export interface RefreshClaim {
  readonly tableId: TableId;
  readonly workerId: string;
  readonly token: number;
  readonly expiresAtMs: number;
  readonly attempt: number;
}

/** What a refresh took. */
export interface RefreshCost {
  readonly action: "FULL" | "INCREMENTAL";
  readonly durationMs: number;
  /** Rows added and removed in all sources. */
  readonly changedRows: number;
  /** Rows of all sources. */
  readonly totalRows: number;
}

export interface RefreshRecord {
  readonly tableId: TableId;
  readonly token: number;
  readonly state: RefreshState;
  readonly action: RefreshAction | undefined;
  readonly trigger: "SCHEDULED" | "MANUAL" | "INITIAL" | "DOWNSTREAM";
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly sourceSnapshot: SnapshotId | undefined;
  readonly snapshot: SnapshotId | undefined;
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  /** Why it was done this way. */
  readonly reason: string;
  /** In how many parts it was computed, and by how many workers. */
  readonly partCount: number;
  readonly workerCount: number;
  readonly workerId: string;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}
