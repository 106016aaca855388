/**
 * The claim protocol, as workers use it. `src/kinds/refresh/store` implements it on the control store.
 *
 *   RC1  A table has at most one claim. Its token exceeds every token that was ever given.
 *   RC2  Whoever is not the holder by worker and token, or whose lease is over by the database's clock, changes nothing: it hears
 *        `claim_lost`.
 *   RC3  A publication is one transaction: the lake's commit, the cursors, the history, the end of the claim. All or nothing.
 *   RC4  Reaching a target satisfies the requests that were made before the target was chosen, and no later one.
 */
import type { SnapshotId, TableId } from "../../../data/lake/core/index.ts";
import type { Tx } from "../../../ground/store/core/index.ts";
import type { DynamicTable, RefreshClaim, RefreshCost, RefreshRecord } from "./model.ts";
import type { ClaimedSubtask, RefreshSplit } from "./refresh-subtasks.ts";

/** What a refresh reads of one source. */
export interface RefreshSource {
  readonly tableId: TableId;
  readonly isDynamic: boolean;
  /** What the table's contents were made of; `undefined`: the source has to be read whole. */
  readonly from: SnapshotId | undefined;
  /** The source at this snapshot of the lake is what it is to be made of now. */
  readonly to: SnapshotId;
  /** The columns that the definition knows, in their order; absent: all. */
  readonly columns?: readonly string[];
}

export interface ClaimedRefresh extends RefreshClaim {
  readonly table: DynamicTable;
  /** How long the claim holds after it was given, and after each heartbeat. */
  readonly leaseMs: number;
  readonly claimedAtMs: number;
  readonly trigger: RefreshRecord["trigger"];
  /** The table is to be as of this snapshot, which was the newest at `targetTimeMs`. */
  readonly targetSnapshot: SnapshotId;
  readonly targetTimeMs: number;
  readonly sources: readonly RefreshSource[];
  /** What earlier refreshes of this definition cost, newest last. Only where there is a choice to be made by it. */
  readonly experience: readonly RefreshCost[];
}

/** What identifies the holder. */
export type ClaimKey = Pick<RefreshClaim, "tableId" | "workerId" | "token">;

export interface RefreshedData {
  readonly action: "FULL" | "INCREMENTAL";
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  /** Why it was done this way, for people. */
  readonly reason?: string;
  readonly cost?: Omit<RefreshCost, "action">;
  /** How many parts it was computed in, and by how many workers; one by one when absent. */
  readonly parts?: { readonly partCount: number; readonly workerCount: number };
  /** Commits to the lake within the transaction that publishes. It may be called more than once. */
  readonly commit: (tx: Tx) => Promise<{ readonly snapshot: SnapshotId }>;
  /** The same over what the lake is now, after a commit of somebody else's stood in the way; absent: it has to be computed anew. */
  readonly rebase?: () => Promise<RefreshedData>;
  /** It will not be published: what was written for it can go. */
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
   * Trying again is of no use until the definition or a source changes: the table is FAILED at
   * once.
   */
  readonly isPermanent: boolean;
  /** A file of the lake that is not where it should be. */
  readonly missingPath?: string;
}

export interface ClaimRequest {
  readonly workerId: string;
  /** Refreshes. */
  readonly limit: number;
  /** Subtasks are wanted, too, and count towards `limit`; `own`: only of refreshes that this worker leads. */
  readonly subtasks?: {
    readonly ability: string;
    readonly limit: number;
    readonly of: "any" | "own";
  };
}

export interface ClaimAnswer {
  /** In the order of priority, then of due time. */
  readonly claimed: readonly ClaimedRefresh[];
  readonly subtasks?: readonly ClaimedSubtask[];
  /** When something that waits now can be claimed; `undefined`: when somebody pokes. */
  readonly waitMs: number | undefined;
}

export interface RefreshClaims {
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  /** `false`: the claim is lost. */
  heartbeat(claim: ClaimKey): Promise<boolean>;
  publish(claim: ClaimKey, result: RefreshResult): Promise<PublishOutcome>;
  /** Counts as an attempt, and towards suspension. `false`: the claim was lost already. */
  fail(claim: ClaimKey, failure: RefreshFailure): Promise<boolean>;
  /** Gives it back undone, at no one's fault. `false`: the claim was lost already. */
  release(claim: ClaimKey, reason: string): Promise<boolean>;
}

/** Computes a refresh and writes its files; nothing of it is visible before `publish`. */
export interface Refresher {
  /** Ends soon after `signal` aborts: the claim is lost, or the process stops. */
  refresh(
    claim: ClaimedRefresh,
    table: DynamicTable,
    signal: AbortSignal,
  ): Promise<RefreshResult | RefreshSplit>;
}
