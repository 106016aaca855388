import { backoffMs } from "../../ground/kernel/backoff.ts";
/** Decides how long a child that ended waits before its next start. */
export interface RestartHistory {
  /** The number of ends in quick succession. */
  readonly failures: number;
}

export const freshHistory: RestartHistory = { failures: 0 };

const restart = { minMs: 100, maxMs: 5_000 };
/** A child that ran for this long was healthy: its end counts as the first one. */
const settledMs = 5_000;

export function decideRestart(
  history: RestartHistory,
  ranMs: number,
): { readonly history: RestartHistory; readonly waitMs: number } {
  const failures = ranMs >= settledMs ? 1 : history.failures + 1;
  return { history: { failures }, waitMs: backoffMs(restart, failures) };
}
