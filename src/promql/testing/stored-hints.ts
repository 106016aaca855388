/**
 * The counter reset hints that histograms have when they are read back from a Prometheus TSDB, which is what its test
 * scripts count on. A TSDB keeps runs of histograms that continue each other in one chunk; within a chunk it knows that
 * there was no reset, and at its start it claims nothing, whatever hint was written:
 *
 *   gauge      a gauge stays one
 *   not_reset  it continues the sample before it: a histogram of a counter and of the same layout, nothing of it less
 *   unknown    everything else; `reset` never comes back
 */
import { type CounterResetHint, customBucketsSchema, type FloatHistogram } from "../core/index.ts";
import { filledBuckets } from "./same-histogram.ts";

/** `previous` is `undefined` when the sample before was none, a float or a stale marker. */
export function storedHint(
  histogram: FloatHistogram,
  previous: FloatHistogram | undefined,
): CounterResetHint {
  if (histogram.counterResetHint === "gauge") return "gauge";
  if (previous === undefined || previous.counterResetHint === "gauge") return "unknown";
  if (histogram.counterResetHint === "reset") return "unknown";
  return continues(histogram, previous) ? "not_reset" : "unknown";
}

function continues(histogram: FloatHistogram, previous: FloatHistogram): boolean {
  return (
    histogram.schema === previous.schema &&
    histogram.zeroThreshold === previous.zeroThreshold &&
    (histogram.schema !== customBucketsSchema ||
      histogram.customValues.join() === previous.customValues.join()) &&
    histogram.count >= previous.count &&
    histogram.zeroCount >= previous.zeroCount &&
    coversBuckets(
      histogram.positiveSpans,
      histogram.positiveBuckets,
      previous.positiveSpans,
      previous.positiveBuckets,
    ) &&
    coversBuckets(
      histogram.negativeSpans,
      histogram.negativeBuckets,
      previous.negativeSpans,
      previous.negativeBuckets,
    )
  );
}

function coversBuckets(
  spans: FloatHistogram["positiveSpans"],
  buckets: readonly number[],
  previousSpans: FloatHistogram["positiveSpans"],
  previousBuckets: readonly number[],
): boolean {
  const counts = new Map(filledBuckets(spans, buckets));
  return filledBuckets(previousSpans, previousBuckets).every(
    ([index, count]) => (counts.get(index) ?? 0) >= count,
  );
}
