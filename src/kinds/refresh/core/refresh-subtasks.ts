/**
 * A refresh that several workers compute: its holder, the *lead*, splits it into subtasks, which every worker's loop claims, its own
 * too; when all are done the lead publishes them together. `src/kinds/refresh/store` implements it beside the claims.
 *
 *   RP1  A subtask has at most one holder, with a token of the same fence as the refreshes', and a lease of its own.
 *   RP2  It lives as long as the lead's claim: whatever ends that, ends them all in the same transaction.
 *   RP3  Whoever is not the holder by worker and token, or whose lease is over, changes nothing.
 *   RP4  A subtask that fails, or loses its worker, is given to another, a few times; then the refresh has failed.
 */
import type { ClaimedRefresh, ClaimKey, RefreshedData, RefreshFailure } from "./refresh-claims.ts";

/** What identifies the holder of a subtask. */
export interface SubtaskKey {
  /** The lead's. */
  readonly refreshToken: number;
  readonly part: number;
  readonly workerId: string;
  readonly token: number;
}

export interface ClaimedSubtask extends SubtaskKey {
  /** The refresh that it is part of, as its lead claimed it. */
  readonly refresh: ClaimedRefresh;
  /** What to do, in the words of whoever split it. */
  readonly spec: string;
  readonly leaseMs: number;
  readonly attempt: number;
}

/** Given back by a `Refresher` instead of a result: others can do it as well. */
export interface RefreshSplit {
  readonly action: "SPLIT";
  /** Only workers that say the same of themselves are given the parts. */
  readonly ability: string;
  /** One for each part. */
  readonly specs: readonly string[];
  /** From the parts' results, in their order. */
  merge(results: readonly PartResult[]): Promise<RefreshedData>;
  /** They will not be published. */
  discard(results: readonly PartResult[]): Promise<void>;
}

export interface PartResult {
  readonly workerId: string;
  readonly result: string;
}

export type SplitProgress =
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly results: readonly PartResult[] }
  /** `results`: of the parts that were done. */
  | {
      readonly kind: "failed";
      readonly failure: RefreshFailure;
      readonly results: readonly PartResult[];
    }
  | { readonly kind: "claim_lost" };

export interface SubtaskClaims {
  /** By the lead. Said again, it changes nothing. `false`: the claim is lost. */
  split(lead: ClaimKey, split: Pick<RefreshSplit, "ability" | "specs">): Promise<boolean>;
  progress(lead: ClaimKey): Promise<SplitProgress>;
  /** `false`: the subtask is lost, or its refresh has ended. */
  heartbeat(subtask: SubtaskKey): Promise<boolean>;
  /** Said again, it is `true` again. */
  finish(subtask: SubtaskKey, result: string): Promise<boolean>;
  fail(subtask: SubtaskKey, failure: RefreshFailure): Promise<boolean>;
  /** Gives it back undone, at no one's fault. */
  release(subtask: SubtaskKey): Promise<boolean>;
}

/** Computes one part. */
export interface SubtaskRunner {
  readonly ability: string;
  /** Ends soon after `signal` aborts. */
  run(subtask: ClaimedSubtask, signal: AbortSignal): Promise<string>;
}
