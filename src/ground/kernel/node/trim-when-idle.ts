/**
 * Gives memory back when a thread has nothing to do. V8 collects when it needs room and not before,
 * so what the last large answer left (buffers, a young generation grown to its full size) would
 * stay for as long as the thread is idle.
 *
 *   PR14  It collects only when the thread was hardly busy since the last look, and the thread has
 *         clearly more memory than after the last collection: an idle process does not collect
 *         again and again.
 */
import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const lookMs = 5_000;
/** Of the time between two looks. A scrape every five seconds takes less. */
const busyShareMax = 0.05;
const grownBytesMin = 8 * 1024 ** 2;

export interface TrimFacts {
  readonly busyShare: number;
  readonly heldBytes: number;
  /** After the last collection; 0: there was none. */
  readonly heldBytesBefore: number;
}

/** PR14. */
export function decideTrim({ busyShare, heldBytes, heldBytesBefore }: TrimFacts): boolean {
  return busyShare <= busyShareMax && heldBytes >= heldBytesBefore + grownBytesMin;
}

/** For the calling thread, until its end; it keeps nothing alive. */
export function trimWhenIdle(): void {
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let heldBytesBefore = 0;
  let collect: (() => void) | undefined;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const busyShare = performance.eventLoopUtilization(now, before).utilization;
    before = now;
    if (!decideTrim({ busyShare, heldBytes: heldBytes(), heldBytesBefore })) return;
    collect ??= makeCollector();
    collect();
    heldBytesBefore = heldBytes();
  }, lookMs).unref();
}

function heldBytes(): number {
  const { total_physical_size, external_memory } = getHeapStatistics();
  return total_physical_size + external_memory;
}

/**
 * Node offers a collection only behind a flag, which may be set while it runs. The flag is the
 * whole process's and stays set: taken back, it would be missing in another thread that is between
 * these two lines (PR14).
 */
export function makeCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
