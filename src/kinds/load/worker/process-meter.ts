/** What the process takes, and how late its event loop is. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { ProcessMeter } from "./load-session.ts";

/** The loop is looked at so often; what Node counts has this in it. */
const resolutionMs = 5;

/**
 * `memoryBytes`: what the process may take at most. CPU is that of the load's own thread: at 100 %
 * it does nothing else.
 */
export function startProcessMeter(
  clock: Clock,
  memoryBytes: number,
): ProcessMeter & { close(): void } {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let last = { cpuUs: cpuUs(), atMs: clock.nowMs() };
  return {
    take() {
      const now = { cpuUs: cpuUs(), atMs: clock.nowMs() };
      const wallUs = Math.max(1, (now.atMs - last.atMs) * 1000);
      const cpuPercent = ((now.cpuUs - last.cpuUs) / wallUs) * 100;
      last = now;
      const lateMs = delay.count === 0 ? 0 : delay.percentile(99) / 1e6 - resolutionMs;
      const meanMs = delay.count === 0 ? 0 : delay.mean / 1e6 - resolutionMs;
      delay.reset();
      const rssBytes = process.memoryUsage.rss();
      return {
        event_loop_delay_ms_p99: Math.max(0, lateMs),
        event_loop_delay_ms_mean: Math.max(0, meanMs),
        cpu_percent: cpuPercent,
        memory_percent: (rssBytes / memoryBytes) * 100,
        rss_bytes: rssBytes,
      };
    },
    close: () => void delay.disable(),
  };
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
