/**
 * What the managers report for the scheduling, execution, artifact and end-user metrics of
 * interactive-queries.md. Calls are synchronous and must return quickly. A `work_id` goes on
 * exemplars, logs and spans; it is never a metric's label.
 */
import type { WorkerId } from "../../kernel/ids.ts";
import type { RejectReason, WorkKey } from "./assignment/index.ts";

export type QueryOutcome = "done" | "failed" | "cancelled";

/** Why a complete artifact left the spool. `acked` is the normal end; the others are clean-ups. */
export type CleanupReason = "acked" | "ttl" | "evicted" | "unwanted";

/** The API's side: coordinator and query-api. */
export interface ApiQueryObserver {
  workAssigned(workerId: WorkerId, affinityHit: boolean): void;
  /**
   * The latency is from the submission, or from the loss that moved the work, to the acceptance.
   */
  workAccepted(workerId: WorkerId, assignmentLatencyMs: number, work: WorkKey): void;
  workRejected(workerId: WorkerId, reason: RejectReason): void;
  workReassigned(reason: string): void;
  queryStarted(kind: string): void;
  /** `code` is an `ErrorCode`, absent when the query succeeded. */
  queryEnded(
    kind: string,
    outcome: QueryOutcome,
    durationMs: number,
    code: string | undefined,
  ): void;
  /** The latency is from the submission to the first committed artifact. */
  firstResult(kind: string, latencyMs: number): void;
  /** `readyToFetchMs`: from `WorkReady` to the fetch; `fetchMs`: until its bytes were verified. */
  artifactFetched(readyToFetchMs: number, fetchMs: number, sizeBytes: number, work: WorkKey): void;
  artifactFetchFailed(code: string): void;
  checksumMismatch(workerId: WorkerId): void;
  /** A worker found data that is not what was committed, or is missing; the message names it. */
  dataCorrupt(what: "damaged" | "missing", message: string): void;
}

/** The worker's side. */
export interface WorkerQueryObserver {
  /** The numbers of works that wait for a slot and in a slot. */
  workerQueueChanged(queued: number, executing: number): void;
  executionEnded(
    kind: string,
    outcome: QueryOutcome,
    runtimeMs: number,
    code: string | undefined,
    work: WorkKey,
  ): void;
  /** The latency is from the cancellation's arrival to the executor's stop. */
  executionCancelled(kind: string, latencyMs: number, work: WorkKey): void;
  artifactCleaned(reason: CleanupReason): void;
  spoolChanged(usedBytes: number, freeBytes: number): void;
}
