/**
 * The claim protocol as workers use it. `src/kinds/refresh/store` implements it on the control
 * store. Rules: TC1 to TC9.
 */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { Tx } from "../../../ground/store/core/index.ts";
import type { DynamicTable, RefreshClaim, RefreshCost, RefreshRecord } from "./model.ts";
import type { ClaimedSubtask, RefreshSplit } from "./refresh-subtasks.ts";

/** One source of a refresh. */
export interface RefreshSource {
  readonly tableId: TableId;
  readonly isDynamic: boolean;
  /** The snapshot that the contents were made of. Undefined: the source is read whole. */
  readonly from: SnapshotId | undefined;
  /** The snapshot that the new contents are made of. */
  readonly to: SnapshotId;
  /** The columns that the definition knows, in their order. Absent for all columns. */
  readonly columns?: readonly string[];
}

export interface ClaimedRefresh extends RefreshClaim {
  readonly table: DynamicTable;
  /** How long the claim is valid after it was granted, and after each heartbeat. */
  readonly leaseMs: number;
  readonly claimedAtMs: number;
  readonly trigger: RefreshRecord["trigger"];
  /** The snapshot to bring the table to. It was the newest at `targetTimeMs`. */
  readonly targetSnapshot: SnapshotId;
  readonly targetTimeMs: number;
  readonly sources: readonly RefreshSource[];
  /** Costs of earlier refreshes of this definition, newest last. Empty unless AUTO chooses. */
  readonly experience: readonly RefreshCost[];
}

/** Identifies the holder of a claim. */
export type ClaimKey = Pick<RefreshClaim, "tableId" | "workerId" | "token">;

export interface RefreshedData {
  readonly action: "FULL" | "INCREMENTAL";
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  /** Why this action was chosen, for people. */
  readonly reason?: string;
  readonly cost?: Omit<RefreshCost, "action">;
  /** The number of parts and of workers that computed them. Both are one when absent. */
  readonly parts?: { readonly partCount: number; readonly workerCount: number };
  /** Commits to the lake within the publishing transaction. It may be called more than once. */
  readonly commit: (tx: Tx) => Promise<{ readonly snapshot: SnapshotId }>;
  /** Applies the change on top of a conflicting commit. When absent, it is computed again. */
  readonly rebase?: () => Promise<RefreshedData>;
  /** Deletes what was written. Called when the result will not be published. */
  readonly discard?: () => Promise<void>;
}

export type RefreshResult = RefreshedData | { readonly action: "NO_DATA" };

export type PublishOutcome =
  | { readonly kind: "published"; readonly snapshot: SnapshotId }
  | { readonly kind: "claim_lost" };

export interface RefreshFailure {
  readonly code: string;
  readonly message: string;
  /**
   * Retrying is useless until the definition or a source changes, so the table becomes FAILED at
   * once.
   */
  readonly isPermanent: boolean;
  /** The path of a lake file that was not found. */
  readonly missingPath?: string;
}

export interface ClaimRequest {
  readonly workerId: string;
  /** The maximum number of refreshes to claim. */
  readonly limit: number;
  /** Asks for subtasks too, within `limit`. `own`: only of refreshes that this worker leads. */
  readonly subtasks?: {
    readonly ability: string;
    readonly limit: number;
    readonly of: "any" | "own";
  };
}

export interface ClaimAnswer {
  /** Ordered by priority, then by due time. */
  readonly claimed: readonly ClaimedRefresh[];
  readonly subtasks?: readonly ClaimedSubtask[];
  /** How long until something that waits can be claimed. Undefined when only a poke can tell. */
  readonly waitMs: number | undefined;
}

export interface RefreshClaims {
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  /** False when the claim is lost. */
  heartbeat(claim: ClaimKey): Promise<boolean>;
  publish(claim: ClaimKey, result: RefreshResult): Promise<PublishOutcome>;
  /** Counts as an attempt, and towards suspension. False when the claim was already lost. */
  fail(claim: ClaimKey, failure: RefreshFailure): Promise<boolean>;
  /** Gives the refresh back without counting an attempt. False when the claim was already lost. */
  release(claim: ClaimKey, reason: string): Promise<boolean>;
}

/** Computes a refresh and writes its files. Nothing is visible before `publish`. */
export interface Refresher {
  /** Ends soon after `signal` aborts, which happens when the claim is lost or the process stops. */
  refresh(
    claim: ClaimedRefresh,
    table: DynamicTable,
    signal: AbortSignal,
  ): Promise<RefreshResult | RefreshSplit>;
}
