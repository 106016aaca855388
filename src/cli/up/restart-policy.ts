/** How long a child that died waits for its next start. */
export interface RestartHistory {
  /** Deaths that followed each other quickly. */
  readonly failures: number;
}

export const freshHistory: RestartHistory = { failures: 0 };

const waitMsMin = 100;
const waitMsMax = 5_000;
/** A child that ran this long was well: its death is the first of a new row. */
const settledMs = 5_000;

export function decideRestart(
  history: RestartHistory,
  ranMs: number,
): { readonly history: RestartHistory; readonly waitMs: number } {
  const failures = ranMs >= settledMs ? 1 : history.failures + 1;
  const waitMs = Math.min(waitMsMax, waitMsMin * 2 ** Math.min(failures - 1, 20));
  return { history: { failures }, waitMs };
}
