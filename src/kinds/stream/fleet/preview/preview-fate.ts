/** Decides from a preview's row what has become of its query. Pure. */
import type { QueryRow } from "../../catalog/core/index.ts";

export type PreviewFate =
  /** The query is being deployed, or runs. */
  | { readonly kind: "live"; readonly isRunning: boolean; readonly reason: string }
  /** Its sources have ended, and the reader has every row. */
  | { readonly kind: "ended" }
  | { readonly kind: "dropped" }
  | { readonly kind: "failed"; readonly reason: string };

export type FateRow = Pick<QueryRow, "state" | "state_reason" | "desired_state" | "epoch">;

/**
 * A preview is deployed once: rows that were shown cannot be taken back, so one that has to be
 * deployed again has failed (SD71).
 */
export function fateOf(row: FateRow | undefined, hasRun: boolean): PreviewFate {
  if (row === undefined || row.desired_state !== "RUNNING") return { kind: "dropped" };
  const { state, state_reason: reason } = row;
  if (state === "FAILED" || state === "TERMINATING" || row.epoch > 1) {
    return { kind: "failed", reason };
  }
  if (state === "TERMINATED") return { kind: "ended" };
  if (hasRun && state !== "RUNNING") return { kind: "failed", reason };
  return { kind: "live", isRunning: state === "RUNNING", reason };
}
