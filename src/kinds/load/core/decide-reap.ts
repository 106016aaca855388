/** When a worker's process that should have ended is signalled. Rules: RP1. */
import { deadAfterMs, drainTimeoutMs, type WorkerStatus } from "./run-state.ts";

export interface ReapFacts {
  readonly nowMs: number;
  readonly status: WorkerStatus;
  readonly lastHeartbeatMs: number;
  readonly stopTimeMs: number | null;
  readonly endTimeMs: number | null;
}

const graceMs = 10_000;

export function decideSignal(facts: ReapFacts): "SIGTERM" | "SIGKILL" | undefined {
  const goneByMs = goneBy(facts);
  if (facts.nowMs >= goneByMs + 2 * graceMs) return "SIGKILL";
  return facts.nowMs >= goneByMs + graceMs ? "SIGTERM" : undefined;
}

function goneBy({ status, lastHeartbeatMs, stopTimeMs, endTimeMs }: ReapFacts): number {
  const drainedMs = stopTimeMs === null ? Infinity : stopTimeMs + drainTimeoutMs;
  const runMs = Math.min(drainedMs, endTimeMs ?? Infinity);
  if (status === "COMPLETED" || status === "FAILED") return Math.min(lastHeartbeatMs, runMs);
  return status === "DEAD" ? Math.min(lastHeartbeatMs + deadAfterMs, runMs) : runMs;
}
