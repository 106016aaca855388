/**
 * A worker that leaves lets the coordinator take its fragments first (SD31): it waits until nothing
 * of them is left here. Where there is no coordinator, nobody takes them.
 */
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import type { Logger } from "../../../../ground/kernel/logger.ts";

export interface LeaveClusterOptions {
  readonly worker: { readonly isEmpty: boolean; whenEmpty(): Promise<void> };
  readonly hasCoordinator: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Another coordinator takes over within about that time, if there is one. */
const lonelyMsMax = 3_000;
const lookMs = 200;

/** Resolves when no fragment is left here. The drain's timeout is not known here. */
export async function leaveCluster(options: LeaveClusterOptions): Promise<void> {
  const { worker, hasCoordinator, clock, logger } = options;
  let seenMs = clock.nowMs();
  while (!worker.isEmpty) {
    if (hasCoordinator()) seenMs = clock.nowMs();
    if (clock.nowMs() - seenMs >= lonelyMsMax) {
      const text = "no coordinator takes the fragments of continuous queries: leaving with them";
      logger.warn({}, text);
      return;
    }
    const over = new AbortController();
    await Promise.race([worker.whenEmpty(), sleep(clock, lookMs, over.signal)]);
    over.abort();
  }
}
