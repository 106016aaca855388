/**
 * One word for a worker's condition, from its state and its admission flags. Used by every page.
 */
import type { Worker } from "./gen/types.ts";

/** A worker as stored. */
export type WorkerRow = Omit<Worker, "live">;

export type Condition = "active" | "draining" | "unreachable";
export type Admission = "accepting" | "full" | "draining" | "none";

export function conditionOf(row: WorkerRow): Condition {
  if (row.state === "UNREACHABLE") return "unreachable";
  return row.draining || row.drain_requested ? "draining" : "active";
}

export function admissionOf(row: WorkerRow): Admission {
  if (row.state === "UNREACHABLE") return "none";
  if (row.draining || row.drain_requested) return "draining";
  return row.accepting_work ? "accepting" : "full";
}

export function addressOf(row: WorkerRow): string {
  return `${row.host_name}:${row.grpc_port}`;
}
