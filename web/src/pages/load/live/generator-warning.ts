/** What says that the figures of this second are the generator's, not the target's; the limits are those of the run's verdict. */
import type { RunUpdate } from "../../../api/load-types.ts";

const scheduleLagMsMax = 5;
const eventLoopDelayMsMax = 20;
const cpuPercentMax = 95;

export function generatorWarnings({
  custom_metrics: { resources },
}: Pick<RunUpdate, "custom_metrics">): readonly string[] {
  const warnings: string[] = [];
  const { schedule_lag_ms_peak: lag, event_loop_delay_ms_peak: delay } = resources;
  const { cpu_percent_peak: cpu, dropped = 0 } = resources;
  if ((lag ?? 0) > scheduleLagMsMax) {
    warnings.push(`The generator is the bottleneck: operations begin ${round(lag)} ms late.`);
  } else if ((delay ?? 0) > eventLoopDelayMsMax) {
    warnings.push(`The generator is the bottleneck: it takes answers ${round(delay)} ms late.`);
  } else if ((cpu ?? 0) > cpuPercentMax) {
    warnings.push(`The generator is the bottleneck: its thread is ${round(cpu)} % busy.`);
  }
  if (dropped > 0) {
    const what = dropped === 1 ? "arrival was" : "arrivals were";
    warnings.push(`${dropped} ${what} dropped, so percentiles are too good to be true.`);
  }
  return warnings;
}

function round(value: number | null | undefined): number {
  return Math.round(value ?? 0);
}
