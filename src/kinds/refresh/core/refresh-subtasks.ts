/**
 * A refresh that several workers compute. Its holder, the *lead*, splits it into subtasks that
 * every worker's loop claims, the lead's included. When all are done, the lead publishes them
 * together. `src/kinds/refresh/store` implements the protocol. Rules: TP3 to TP8.
 */
import type { ClaimedRefresh, ClaimKey, RefreshedData, RefreshFailure } from "./refresh-claims.ts";

/** Identifies the holder of a subtask. */
export interface SubtaskKey {
  /** The token of the lead's claim. */
  readonly refreshToken: number;
  readonly part: number;
  readonly workerId: string;
  readonly token: number;
}

export interface ClaimedSubtask extends SubtaskKey {
  /** The refresh that it is part of, as its lead claimed it. */
  readonly refresh: ClaimedRefresh;
  /** What to compute, in a format that only refreshers know. */
  readonly spec: string;
  readonly leaseMs: number;
  readonly attempt: number;
}

/** A `Refresher` returns it instead of a result when several workers can share the refresh. */
export interface RefreshSplit {
  readonly action: "SPLIT";
  /** Only workers that report the same ability are given the parts. */
  readonly ability: string;
  /** One spec for each part. */
  readonly specs: readonly string[];
  /** Merges the parts' results, which are in the order of the parts. */
  merge(results: readonly PartResult[]): Promise<RefreshedData>;
  /** Deletes the files of results that will not be published. */
  discard(results: readonly PartResult[]): Promise<void>;
}

export interface PartResult {
  readonly workerId: string;
  readonly result: string;
}

export type SplitProgress =
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly results: readonly PartResult[] }
  /** `results` are those of the parts that were done. */
  | {
      readonly kind: "failed";
      readonly failure: RefreshFailure;
      readonly results: readonly PartResult[];
    }
  | { readonly kind: "claim_lost" };

export interface SubtaskClaims {
  /** Called by the lead. Repeating it changes nothing. False when the claim is lost. */
  split(lead: ClaimKey, split: Pick<RefreshSplit, "ability" | "specs">): Promise<boolean>;
  progress(lead: ClaimKey): Promise<SplitProgress>;
  /** False when the subtask is lost, or its refresh has ended. */
  heartbeat(subtask: SubtaskKey): Promise<boolean>;
  /** Repeating it returns true again. */
  finish(subtask: SubtaskKey, result: string): Promise<boolean>;
  fail(subtask: SubtaskKey, failure: RefreshFailure): Promise<boolean>;
  /** Gives the subtask back without counting an attempt. */
  release(subtask: SubtaskKey): Promise<boolean>;
}

/** Computes one part. */
export interface SubtaskRunner {
  readonly ability: string;
  /** Ends soon after `signal` aborts. */
  run(subtask: ClaimedSubtask, signal: AbortSignal): Promise<string>;
}
