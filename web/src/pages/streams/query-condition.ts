/** A query's state, and what its fragments leave open, in one word with a reason. Pure. */
import type { StreamQuery } from "../../api/gen/types.ts";

/** Sorted, the worst first. `redeploying`: it ran before, under an older epoch. */
export const conditions = [
  "failed",
  "failing",
  "stuck",
  "partial",
  "redeploying",
  "deploying",
  "pending",
  "stopping",
  "paused",
  "running",
  "ended",
] as const;
export type QueryCondition = (typeof conditions)[number];

type Stated = Pick<StreamQuery, "state" | "detail" | "epoch">;

export function conditionOf({ state, detail, epoch }: Stated): QueryCondition {
  if (detail === "STOPPING_STUCK") return "stuck";
  if (detail === "PARTIALLY_DEPLOYED") return "partial";
  switch (state) {
    case "FAILED":
      return "failed";
    case "TERMINATING":
      return "failing";
    case "DEPLOYING":
      return epoch > 1 ? "redeploying" : "deploying";
    case "PENDING":
      return "pending";
    case "STOPPING":
    case "STOPPED":
      return "stopping";
    case "PAUSED":
      return "paused";
    case "RUNNING":
      return "running";
    case "TERMINATED":
      return "ended";
  }
}

/** A lower number is worse. */
export function severityOf(query: Stated): number {
  return conditions.indexOf(conditionOf(query));
}

/** It goes on to another state by itself, so it is looked at more often. */
export function isPassing({ state }: Pick<StreamQuery, "state">): boolean {
  return ["PENDING", "DEPLOYING", "STOPPING", "STOPPED", "TERMINATING"].includes(state);
}

/** Why it is as it is; empty where the state says all. */
export function reasonOf(query: StreamQuery): string {
  const { state, state_reason: reason, error } = query;
  if (state === "RUNNING") return "";
  const where = error?.worker_id ?? "";
  return where === "" || reason.includes(where) ? reason : `${where}: ${reason}`;
}

/** How a stop was asked for, where one was. */
export function wantedText({
  desired_state,
  stop_mode,
  state,
}: Pick<StreamQuery, "desired_state" | "stop_mode" | "state">): string {
  if (desired_state === "STOPPED") {
    return stop_mode === "SOFT" ? "is being stopped softly" : "is being stopped";
  }
  return desired_state === "PAUSED" && state !== "PAUSED" ? "is being paused" : "";
}
