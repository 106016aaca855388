/**
 * Histograms of which only the count and sum are wanted. Their buckets go, so what they say about resets is found first,
 * and stands in the hint: each is compared with the one before it. It is what Prometheus does for `histogram_count` and
 * its like, and visible there: hints that were unknown are known, and may clash where histograms are added up.
 */
import { detectReset } from "../histogram/detect-reset.ts";
import type { CounterResetHint, FloatHistogram } from "../histogram/float-histogram.ts";
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

function statsOf(histogram: FloatHistogram, counterResetHint: CounterResetHint): FloatHistogram {
  return {
    counterResetHint,
    schema: histogram.schema,
    zeroThreshold: 0,
    zeroCount: 0,
    count: histogram.count,
    sum: histogram.sum,
    positiveSpans: [],
    positiveBuckets: [],
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}
