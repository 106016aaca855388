/**
 * Whether a figure is the generator's and not the target's. A generator whose thread is busy, or wakes late, measures itself.
 */
import type { GeneratorHealth } from "./worker-snapshot.ts";

const generatorLimits = {
  schedule_lag_ms_p99: 5,
  event_loop_delay_ms_p99: 20,
  cpu_percent: 95,
} as const;

/** Why the generator was the bottleneck in this second; `null`: it was not. */
export function generatorBoundReason(health: GeneratorHealth): string | null {
  const { schedule_lag_ms_p99: lag, event_loop_delay_ms_p99: delay, cpu_percent: cpu } = health;
  if (lag > generatorLimits.schedule_lag_ms_p99) {
    return `operations began ${round(lag)} ms late though a connection was free`;
  }
  if (delay > generatorLimits.event_loop_delay_ms_p99) {
    return `the generator was ${round(delay)} ms late to take answers`;
  }
  if (cpu > generatorLimits.cpu_percent) return `the generator's thread was ${round(cpu)} % busy`;
  return null;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
