/**
 * Whether a load worker has to end by itself: no load without somebody who controls it. Every
 * condition of the specification, and two more (`design.md`): the coordinator's lease, and a
 * deadline that needs no store to be kept.
 */
import {
  drainTimeoutMs,
  isTerminal,
  type RunStatus,
  startTimeoutMs,
  storeLossMsMax,
} from "./run-state.ts";
import type { Scenario } from "./scenario.ts";

export type WorkerEndKind =
  | "stopped"
  | "terminated"
  | "no_start"
  | "store_lost"
  | "run_ended"
  | "run_gone"
  | "superseded"
  | "lease_lapsed"
  | "deadline"
  | "target_failed";

export interface WatchdogFacts {
  readonly nowMs: number;
  readonly registeredMs: number;
  readonly hasStarted: boolean;
  /** When the store last answered. */
  readonly contactMs: number;
  /** The status as last read. */
  readonly runStatus: RunStatus;
  readonly leaseLapsedMs: number;
  /** Undefined before the start. */
  readonly deadlineMs: number | undefined;
}

const leaseLapsedMsMax = 60_000;
/** A search for the maximum has no planned end. */
const findMaxSeconds = 6 * 3_600;

/** Undefined when the worker continues. */
export function decideWorkerEnd(facts: WatchdogFacts): WorkerEndKind | undefined {
  const { nowMs } = facts;
  if (isTerminal(facts.runStatus)) return "run_ended";
  if (facts.deadlineMs !== undefined && nowMs >= facts.deadlineMs) return "deadline";
  if (nowMs - facts.contactMs >= storeLossMsMax) return "store_lost";
  if (facts.leaseLapsedMs >= leaseLapsedMsMax) return "lease_lapsed";
  if (!facts.hasStarted && nowMs - facts.registeredMs >= startTimeoutMs) return "no_start";
  return undefined;
}

/**
 * The planned end plus the time for draining, for a start at `startMs`. The store cannot move it
 * later.
 */
export function deadlineOf({ workload }: Scenario, startMs: number): number {
  const seconds =
    workload.loadMode === "FIND_MAX_CONCURRENCY"
      ? Math.max(findMaxSeconds, workload.durationSeconds)
      : workload.durationSeconds;
  return startMs + (workload.warmupSeconds + seconds) * 1000 + drainTimeoutMs;
}
