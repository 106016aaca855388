/** Waiting for rows of a stream of the system, for a moment at most. */
import { type Clock, waitAtMost } from "../../../ground/kernel/clock.ts";
import type { SystemRows } from "../run/core/index.ts";
import type { RecentRows } from "./core/index.ts";

/** A reader is told that nothing came about as often as that of any other live source. */
export const rowsWaitMsMax = 500;

export async function rowsOrWait(
  rows: RecentRows,
  after: string | undefined,
  clock: Clock,
): Promise<SystemRows> {
  const now = rows.after(after);
  if (after === undefined || now.lines !== "") return now;
  await waitAtMost(clock, rowsWaitMsMax, rows.more);
  return rows.after(after);
}
