/**
 * Removes the buckets of histograms of which only count and sum are needed. Before that, each is
 * compared with the one before it, and the result is put into the reset hint. Prometheus does so
 * for `histogram_count` and similar functions, and it is visible: unknown hints become known, and
 * may clash in sums.
 */
import { detectReset } from "../histogram/detect-reset.ts";
import {
  type CounterResetHint,
  emptyHistogram,
  type FloatHistogram,
} from "../histogram/float-histogram.ts";
import type { SampleColumns } from "../model.ts";

export function withHistogramStats(samples: SampleColumns): SampleColumns {
  const { histograms, stale, count } = samples;
  if (histograms === undefined) return samples;
  let previous: FloatHistogram | undefined;
  const stats: (FloatHistogram | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const histogram = histograms[index];
    if (histogram === undefined || stale?.[index] === 1) {
      stats.push(histogram);
      continue;
    }
    stats.push(statsOf(histogram, hintAfter(histogram, previous)));
    previous = histogram;
  }
  return { ...samples, histograms: stats };
}

function hintAfter(
  histogram: FloatHistogram,
  previous: FloatHistogram | undefined,
): CounterResetHint {
  const { counterResetHint } = histogram;
  if (counterResetHint !== "unknown" || previous === undefined) return counterResetHint;
  return detectReset(histogram, previous) ? "reset" : "not_reset";
}

function statsOf(
  { schema, count, sum }: FloatHistogram,
  counterResetHint: CounterResetHint,
): FloatHistogram {
  return { ...emptyHistogram, counterResetHint, schema, count, sum };
}
