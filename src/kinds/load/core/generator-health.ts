/**
 * Whether a figure is the generator's and not the target's. A generator whose thread is busy, or
 * wakes late, measures itself; how late is too late depends on what is measured: 5 ms are nothing
 * to a target that takes 500 ms, and everything to one that takes 1 ms. Rules: LW15.
 */
import type { GeneratorHealth } from "./worker-snapshot.ts";

const shareMax = 0.25;
const cpuPercentMax = 95;
/**
 * Minimum lateness in milliseconds. Timers that measure the event loop's delay are exact to 1 ms;
 * arrivals have a better timer.
 */
const lateMsMin = { lag: 0.1, delay: 1 } as const;

/** Why the generator was the bottleneck in this second. Null when it was not. */
export function generatorBoundReason(health: GeneratorHealth): string | null {
  const { cpu_percent: cpu, latency_ms_p50: median, latency_ms_p95: high } = health;
  const { schedule_lag_ms_p95: lag, event_loop_delay_ms_mean: delay } = health;
  if (lag > lateMsMin.lag && isLate(lag, high)) {
    return `operations began ${round(lag)} ms late (p95) though a connection was free; latency was ${round(high)} ms`;
  }
  if (delay > lateMsMin.delay && isLate(delay, median)) {
    return `the generator was ${round(delay)} ms late on average to take answers; latency was ${round(median)} ms`;
  }
  if (cpu > cpuPercentMax) return `the generator's thread was ${round(cpu)} % busy`;
  return null;
}

/** `measuredMs` is the latency of the same second; without a latency, lateness has no effect. */
function isLate(lateMs: number | undefined, measuredMs: number | null | undefined): boolean {
  if (lateMs === undefined || measuredMs === undefined || measuredMs === null) return false;
  return lateMs > shareMax * measuredMs;
}

function round(value: number | null): number {
  return Math.round((value ?? 0) * 10) / 10;
}
