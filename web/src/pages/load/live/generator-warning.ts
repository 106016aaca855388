/**
 * Whether the figures are the generator's and not the target's, by what this page has seen. Limits and share are those of the
 * run's verdict. Pure.
 */
import type { RunUpdate } from "../../../api/load-types.ts";

const scheduleLagMsMax = 5;
const eventLoopDelayMsMax = 20;
const cpuPercentMax = 95;
const shareMax = 0.1;

export interface GeneratorWatch {
  /** Of measurement, that this page saw. */
  readonly seconds: number;
  readonly boundSeconds: number;
  /** Of the last that was. */
  readonly reason: string;
  readonly dropped: number;
}

export const unwatched: GeneratorWatch = { seconds: 0, boundSeconds: 0, reason: "", dropped: 0 };

type Watched = Pick<RunUpdate, "custom_metrics">;

export function stepGenerator(before: GeneratorWatch, update: Watched): GeneratorWatch {
  const reason = boundReason(update);
  return {
    seconds: before.seconds + 1,
    boundSeconds: before.boundSeconds + (reason === undefined ? 0 : 1),
    reason: reason ?? before.reason,
    dropped: update.custom_metrics.resources.dropped ?? 0,
  };
}

export function generatorWarnings(watch: GeneratorWatch): readonly string[] {
  const { seconds, boundSeconds, reason, dropped } = watch;
  const isBound = boundSeconds > 0 && boundSeconds >= shareMax * seconds;
  return [
    ...(isBound
      ? [
          `The generator was the bottleneck in ${boundSeconds} of ${seconds} seconds: what is measured then is the generator, not the target. Last: ${reason}.`,
        ]
      : []),
    ...(dropped > 0
      ? [
          `${dropped} ${dropped === 1 ? "arrival was" : "arrivals were"} dropped: percentiles are not valid.`,
        ]
      : []),
  ];
}

function boundReason({ custom_metrics: { resources } }: Watched): string | undefined {
  const { schedule_lag_ms_peak: lag, event_loop_delay_ms_peak: delay } = resources;
  const { cpu_percent_peak: cpu } = resources;
  if ((lag ?? 0) > scheduleLagMsMax) return `operations began ${round(lag)} ms late`;
  if ((delay ?? 0) > eventLoopDelayMsMax) return `it took answers ${round(delay)} ms late`;
  return (cpu ?? 0) > cpuPercentMax ? `its thread was ${round(cpu)} % busy` : undefined;
}

function round(value: number | null | undefined): number {
  return Math.round(value ?? 0);
}
