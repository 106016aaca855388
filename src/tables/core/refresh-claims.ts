/**
 * The claim protocol, as workers use it. `src/tables/store` implements it on the control store.
 *
 *   RC1  A table has at most one claim. Its token exceeds every token that was ever given.
 *   RC2  Whoever is not the holder by worker and token, or whose lease is over by the database's clock, changes nothing: it hears
 *        `claim_lost`.
 *   RC3  A publication is one transaction: the lake's commit, the cursors, the history, the end of the claim. All or nothing.
 *   RC4  Reaching a target satisfies the requests that were made before the target was chosen, and no later one.
 */
import type { SnapshotId, TableId } from "../../lake/core/index.ts";
import type { Tx } from "../../store/core/index.ts";
import type { DynamicTable, RefreshClaim, RefreshRecord } from "./model.ts";

/** What a refresh reads of one source. */
export interface RefreshSource {
  readonly tableId: TableId;
  readonly isDynamic: boolean;
  /** What the table's contents were made of; `undefined`: the source has to be read whole. */
  readonly from: SnapshotId | undefined;
  /** The source at this snapshot of the lake is what it is to be made of now. */
  readonly to: SnapshotId;
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
}

/** What identifies the holder. */
export type ClaimKey = Pick<RefreshClaim, "tableId" | "workerId" | "token">;

export interface RefreshedData {
  readonly action: "FULL" | "INCREMENTAL";
  readonly rowsInserted: number;
  readonly rowsDeleted: number;
  /** Commits to the lake within the transaction that publishes. It may be called more than once. */
  readonly commit: (tx: Tx) => Promise<{ readonly snapshot: SnapshotId }>;
}

export type RefreshResult = RefreshedData | { readonly action: "NO_DATA" };

export type PublishOutcome =
  | { readonly kind: "published"; readonly snapshot: SnapshotId }
  | { readonly kind: "claim_lost" };

export interface RefreshFailure {
  readonly code: string;
  readonly message: string;
  /** Trying again is of no use until the definition changes: the table is FAILED at once. */
  readonly isPermanent: boolean;
}

export interface ClaimRequest {
  readonly workerId: string;
  readonly limit: number;
}

export interface ClaimAnswer {
  /** In the order of priority, then of due time. */
  readonly claimed: readonly ClaimedRefresh[];
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
  refresh(claim: ClaimedRefresh, table: DynamicTable, signal: AbortSignal): Promise<RefreshResult>;
}
