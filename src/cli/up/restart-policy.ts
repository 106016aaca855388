import { backoffMs } from "../../ground/kernel/backoff.ts";
/** How long a child that died waits for its next start. */
export interface RestartHistory {
  /** Deaths that followed each other quickly. */
  readonly failures: number;
}

export const freshHistory: RestartHistory = { failures: 0 };

const restart = { minMs: 100, maxMs: 5_000 };
/** A child that ran this long was well: its death is the first of a new row. */
const settledMs = 5_000;

export function decideRestart(
  history: RestartHistory,
  ranMs: number,
): { readonly history: RestartHistory; readonly waitMs: number } {
  const failures = ranMs >= settledMs ? 1 : history.failures + 1;
  return { history: { failures }, waitMs: backoffMs(restart, failures) };
}
