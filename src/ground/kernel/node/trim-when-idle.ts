/**
 * Gives memory back when a thread is idle (PR14). V8 collects only when it needs room, so what the
 * last large answer left (buffers, a young generation at its full size) would otherwise stay.
 */
import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * A collection takes 30 to 130 ms of CPU time in a young coordinator and throws compiled code away,
 * so a pause between two questions is no reason for one.
 */
const lookMs = 15_000;
/** A share of the time between two looks. A scrape every 5 s takes less. */
const busyShareMax = 0.05;
const grownBytesMin = 8 * 1024 ** 2;

export interface TrimFacts {
  readonly busyShare: number;
  readonly heldBytes: number;
  /** What the thread held after the last collection; 0 before the first. */
  readonly heldBytesBefore: number;
}

/** PR14. */
export function decideTrim({ busyShare, heldBytes, heldBytesBefore }: TrimFacts): boolean {
  return busyShare <= busyShareMax && heldBytes >= heldBytesBefore + grownBytesMin;
}

/** Runs in the calling thread until its end, and does not keep it alive. */
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
 * Node offers a collection only behind a flag, which may be set at run time. The flag belongs to
 * the whole process and stays set: resetting it could hit another thread between these two lines
 * (PR14).
 */
export function makeCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
