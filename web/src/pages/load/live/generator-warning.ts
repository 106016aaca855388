/**
 * Whether the load generator, not the target, limits the figures, from what this page has seen. The
 * coordinator judges each second; the share is the same as in the run's verdict. Pure.
 */
import type { RunUpdate } from "../../../api/gen/types.ts";

const shareMax = 0.25;

export interface GeneratorWatch {
  /** The seconds of measurement that this page saw. */
  readonly seconds: number;
  readonly boundSeconds: number;
  /** The reason of the last second that the generator limited. */
  readonly reason: string;
  readonly dropped: number;
}

export const unwatched: GeneratorWatch = { seconds: 0, boundSeconds: 0, reason: "", dropped: 0 };

type Watched = Pick<RunUpdate, "custom_metrics">;

export function stepGenerator(before: GeneratorWatch, update: Watched): GeneratorWatch {
  const reason = update.custom_metrics.resources.generator_bound_reason ?? undefined;
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
          `Load generator saturated in ${boundSeconds} of ${seconds} seconds: the target may be faster than these figures. Last: ${reason}.`,
        ]
      : []),
    ...(dropped > 0
      ? [
          `${dropped} ${dropped === 1 ? "arrival was" : "arrivals were"} dropped: too many are waiting.`,
        ]
      : []),
  ];
}
