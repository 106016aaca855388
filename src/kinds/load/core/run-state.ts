/**
 * Statuses and phases of runs and workers, and their allowed transitions, as `specs/README.md`
 * defines them.
 */

export const runStatuses = [
  "PREPARED",
  "RUNNING",
  "STOPPING",
  "CANCELLING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
] as const;
export type RunStatus = (typeof runStatuses)[number];

/** The phase is empty while the run is prepared. */
export const runPhases = [
  "",
  "PREPARING",
  "WARMUP",
  "MEASUREMENT",
  "COOLDOWN",
  "PROCESSING",
] as const;
export type RunPhase = (typeof runPhases)[number];

export type WorkerStatus =
  | "STARTING"
  | "READY"
  | "RUNNING"
  | "DRAINING"
  | "COMPLETED"
  | "FAILED"
  | "DEAD";
export type WorkerHealth = "HEALTHY" | "STALE" | "DEAD";

export type StopReason =
  | "duration_elapsed"
  | "user_requested"
  | "guardrail"
  | "worker_failure"
  | "bounds_limit_reached"
  | "find_max_done";

export type EnrichmentStatus =
  | "PENDING"
  | "RUNNING"
  | "COMPLETED"
  | "FAILED"
  | "SKIPPED"
  | "AGGREGATE";

const next: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  PREPARED: ["RUNNING", "CANCELLED", "FAILED"],
  RUNNING: ["STOPPING", "CANCELLING"],
  STOPPING: ["COMPLETED", "CANCELLING", "FAILED"],
  CANCELLING: ["CANCELLED", "FAILED"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
};

export function mayFollow(from: RunStatus, to: RunStatus): boolean {
  return next[from].includes(to);
}

export function isTerminal(status: RunStatus): boolean {
  return next[status].length === 0;
}

export const heartbeatMs = 1_000;
export const staleAfterMs = 30_000;
export const deadAfterMs = 60_000;
export const startTimeoutMs = 120_000;
export const drainTimeoutMs = 120_000;
export const storeLossMsMax = 60_000;

/** `agoMs` is the time since the last heartbeat, by the store's clock. */
export function healthOf(agoMs: number): WorkerHealth {
  if (agoMs < staleAfterMs) return "HEALTHY";
  return agoMs < deadAfterMs ? "STALE" : "DEAD";
}
