/** A dynamic table and one refresh. The specification defines the names of states and columns. */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";

export type TableStatus = "INITIALIZING" | "ACTIVE" | "SUSPENDED" | "FAILED";
export type RefreshMode = "FULL" | "INCREMENTAL";
/** `NO_DATA` means that the sources had not changed. */
export type RefreshAction = "FULL" | "INCREMENTAL" | "NO_DATA";
export type RefreshState = "SUCCEEDED" | "FAILED" | "CANCELLED";
export type TargetLag =
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "downstream" };

export interface DynamicTable {
  readonly tableId: TableId;
  readonly schema: string;
  readonly name: string;
  /** The defining SELECT. */
  readonly definition: string;
  readonly targetLag: TargetLag;
  readonly modeWish: "AUTO" | RefreshMode;
  /** The mode that AUTO or the requested mode resolves to, and the reason. */
  readonly mode: RefreshMode;
  readonly modeReason: string;
  /** Its functions are volatile, so it is computed even when its sources have not changed. */
  readonly isVolatile: boolean;
  readonly status: TableStatus;
  /** Why it is suspended or failed. */
  readonly statusReason: string;
  /** The tables that it reads, plain and dynamic. */
  readonly sources: readonly TableId[];
  /** The snapshot of the sources that its contents are made of. Undefined when never refreshed. */
  readonly dataSnapshot: SnapshotId | undefined;
  /** The time of that snapshot by the database's clock. The lag is now minus this time. */
  readonly dataTimeMs: number | undefined;
  readonly failuresInARow: number;
}

/** A claim on one refresh. A holder of an older token cannot publish. */
export interface RefreshClaim {
  readonly tableId: TableId;
  readonly workerId: string;
  readonly token: number;
  readonly expiresAtMs: number;
  readonly attempt: number;
}

/** What a refresh cost. */
export interface RefreshCost {
  readonly action: "FULL" | "INCREMENTAL";
  readonly durationMs: number;
  /** Rows added and removed in all sources, together. */
  readonly changedRows: number;
  /** Rows of all sources, together. */
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
  /** Why this action was chosen. */
  readonly reason: string;
  /** How many parts it was computed in, and by how many workers. */
  readonly partCount: number;
  readonly workerCount: number;
  readonly workerId: string;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}
