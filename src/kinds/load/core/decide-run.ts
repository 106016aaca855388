/**
 * What a run needs next. Asked once a second, and whenever something changed; pure, so that a
 * coordinator that takes over goes on where the other stopped: all that counts is in the facts.
 * Rules: DN1 to DN5.
 */

import { unreachable } from "../../../ground/kernel/errors.ts";
import type { LoadWorkerId } from "./ids.ts";
import type { RunRecord, WorkerRecord } from "./run-record.ts";
import {
  drainTimeoutMs,
  healthOf,
  isTerminal,
  type StopReason,
  startTimeoutMs,
} from "./run-state.ts";

export interface RunWorkerFacts
  extends Pick<WorkerRecord, "workerId" | "status" | "lastHeartbeatMs"> {
  /** Its process is known to have ended. */
  readonly isGone: boolean;
}

export interface RunFacts
  extends Pick<
    RunRecord,
    | ("status" | "phase" | "scenario" | "stopReason" | "expectedWorkers")
    | ("startTimeMs" | "warmupStartTimeMs" | "warmupEndTimeMs" | "stopTimeMs")
  > {
  readonly nowMs: number;
  /** The announced beginning of MEASUREMENT. Null before it is announced. */
  readonly measurementAnnouncedMs: number | null;
  readonly workers: readonly RunWorkerFacts[];
}

export type RunAction =
  /** Sends START and enters the first phase. */
  | { readonly kind: "begin"; readonly phase: "WARMUP" | "MEASUREMENT" }
  | { readonly kind: "announceMeasurement"; readonly atMs: number }
  | { readonly kind: "enterMeasurement"; readonly atMs: number }
  | { readonly kind: "markDead"; readonly workerId: LoadWorkerId; readonly why: string }
  | { readonly kind: "warn"; readonly message: string }
  | {
      readonly kind: "stop";
      readonly reason: StopReason;
      readonly status: "STOPPING" | "CANCELLING";
      readonly cancellationReason: string | null;
    }
  | { readonly kind: "finalize"; readonly status: "COMPLETED" | "CANCELLED" | "FAILED" };

/** MEASUREMENT is announced this long before it begins. */
const announceMs = 5_000;
/** Long enough for every worker to receive it: workers poll once a second. */
export const startLeadMs = 2_000;

export function decideRun(facts: RunFacts): readonly RunAction[] {
  if (facts.status === "PREPARED" || isTerminal(facts.status)) return [];
  const lost = newlyLost(facts);
  const deaths = lost.map(({ workerId, why }) => ({ kind: "markDead" as const, workerId, why }));
  const others =
    facts.status === "RUNNING" ? whileRunning(facts, lost.length > 0) : whileStopping(facts);
  return [...deaths, ...others];
}

/** The cancellation reason in the specification's words. */
export function cancellationReasonOf(reason: StopReason, detail: string): string | null {
  switch (reason) {
    case "user_requested":
      return "User requested cancellation";
    case "guardrail":
      return `Guardrail triggered: ${detail}`;
    case "worker_failure":
      return `Worker failure: ${detail}`;
    case "bounds_limit_reached":
      return "BOUNDS_LIMIT_REACHED";
    case "duration_elapsed":
    case "find_max_done":
      return null;
    default:
      return unreachable(reason);
  }
}

export function stopAction(
  reason: StopReason,
  detail: string,
): Extract<RunAction, { kind: "stop" }> {
  const isNatural =
    reason === "duration_elapsed" ||
    reason === "find_max_done" ||
    reason === "bounds_limit_reached";
  return {
    kind: "stop",
    reason,
    status: isNatural ? "STOPPING" : "CANCELLING",
    cancellationReason: cancellationReasonOf(reason, detail),
  };
}

function whileRunning(facts: RunFacts, hasLost: boolean): readonly RunAction[] {
  const dead = facts.workers.filter((worker) => isLost(worker, facts.nowMs)).length;
  const failure = workerFailure(facts, dead);
  if (failure !== undefined) return [failure];
  const warnings: RunAction[] = hasLost
    ? [{ kind: "warn", message: `${dead}/${facts.expectedWorkers} workers unresponsive` }]
    : [];
  return [...warnings, ...nextPhase(facts)];
}

function nextPhase(facts: RunFacts): readonly RunAction[] {
  const { nowMs, phase, scenario, warmupStartTimeMs, warmupEndTimeMs } = facts;
  const { warmupSeconds: warmup, durationSeconds: duration } = scenario.workload;
  if (phase === "PREPARING") return whilePreparing(facts);
  if (phase === "WARMUP" && warmupStartTimeMs !== null) {
    const atMs = facts.measurementAnnouncedMs ?? warmupStartTimeMs + warmup * 1000;
    if (nowMs >= atMs) return [{ kind: "enterMeasurement", atMs }];
    if (facts.measurementAnnouncedMs === null && nowMs >= atMs - announceMs) {
      return [{ kind: "announceMeasurement", atMs }]; // DN5
    }
    return [];
  }
  if (phase === "MEASUREMENT" && warmupEndTimeMs !== null) {
    const isFindMax = scenario.workload.loadMode === "FIND_MAX_CONCURRENCY";
    const isOver = !isFindMax && nowMs >= warmupEndTimeMs + duration * 1000;
    return isOver ? [stopAction("duration_elapsed", "")] : [];
  }
  return [];
}

function whilePreparing(facts: RunFacts): readonly RunAction[] {
  const { nowMs, startTimeMs, workers, expectedWorkers, scenario } = facts;
  const ready = workers.filter(({ status }) => status === "READY" || status === "RUNNING").length;
  if (ready >= expectedWorkers) {
    const warmupMs = scenario.workload.warmupSeconds * 1000;
    if (warmupMs === 0) return [{ kind: "begin", phase: "MEASUREMENT" }];
    const atMs = nowMs + Math.max(warmupMs, startLeadMs);
    const announced = { kind: "announceMeasurement", atMs } as const;
    // DN5
    return [{ kind: "begin", phase: "WARMUP" }, ...(warmupMs <= announceMs ? [announced] : [])];
  }
  if (startTimeMs === null || nowMs < startTimeMs + startTimeoutMs) return [];
  const seconds = startTimeoutMs / 1000;
  return [
    stopAction(
      "worker_failure",
      `${ready} of ${expectedWorkers} workers were ready after ${seconds} s`,
    ),
  ];
}

/** Applies DN3: while the run prepares, the loss of any worker is a failure. */
function workerFailure(facts: RunFacts, dead: number): RunAction | undefined {
  if (dead === 0) return undefined;
  const { expectedWorkers, phase, scenario } = facts;
  const majority = Math.floor(expectedWorkers / 2) + 1;
  const needed =
    phase === "PREPARING" ? expectedWorkers : (scenario.scaling.minHealthyWorkers ?? majority);
  if (expectedWorkers - dead >= needed) return undefined;
  return stopAction("worker_failure", `${dead} worker(s) stopped responding`);
}

function whileStopping(facts: RunFacts): readonly RunAction[] {
  const { nowMs, stopTimeMs, workers } = facts;
  const isAnybodyLeft = workers.some((worker) => !hasEnded(worker) && !isLost(worker, nowMs));
  const isOverdue = stopTimeMs !== null && nowMs >= stopTimeMs + drainTimeoutMs;
  if (isAnybodyLeft && !isOverdue) return []; // DN4
  return [{ kind: "finalize", status: finalStatus(facts) }];
}

/** DN2 */
function finalStatus({ status, stopReason }: RunFacts): "COMPLETED" | "CANCELLED" | "FAILED" {
  if (status === "STOPPING") return "COMPLETED";
  return stopReason === "user_requested" ? "CANCELLED" : "FAILED";
}

function newlyLost({
  workers,
  nowMs,
}: RunFacts): readonly { workerId: LoadWorkerId; why: string }[] {
  return workers.flatMap((worker) => {
    const { workerId, status, isGone } = worker;
    if (status === "DEAD" || hasEnded(worker) || !isLost(worker, nowMs)) return [];
    return [{ workerId, why: isGone ? "its process ended" : "no heartbeat for 60 s" }];
  });
}

function isLost(worker: RunWorkerFacts, nowMs: number): boolean {
  if (worker.status === "DEAD" || worker.status === "FAILED") return true;
  if (worker.status === "COMPLETED") return false;
  return worker.isGone || healthOf(nowMs - worker.lastHeartbeatMs) === "DEAD";
}

function hasEnded({ status }: RunWorkerFacts): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "DEAD";
}
