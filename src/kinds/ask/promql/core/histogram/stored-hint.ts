/**
 * The reset hint that a store gives a histogram. A sender's hint is about the samples that it sent,
 * which the store need not have, so the store sets hints like Prometheus's:
 *
 *   gauge      a gauge stays one
 *   not_reset  it continues the counter histogram before it: same buckets, no count less
 *   unknown    everything else; a real reset shows in the counts
 */
import { sameBounds } from "./custom-buckets.ts";
import {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
} from "./float-histogram.ts";
import { bucketIndexes, type Side, sameSpans } from "./layout.ts";
import { negativeSide, positiveSide } from "./zero-bucket.ts";

/** Undefined `previous`: no sample, a float or a stale marker, or not known. */
export function withStoredHint(
  histogram: FloatHistogram,
  previous: FloatHistogram | undefined,
): FloatHistogram {
  const counterResetHint = storedHint(histogram, previous);
  if (counterResetHint === histogram.counterResetHint) return histogram;
  return { ...histogram, counterResetHint };
}

function storedHint(
  histogram: FloatHistogram,
  previous: FloatHistogram | undefined,
): CounterResetHint {
  const { counterResetHint: said } = histogram;
  if (said === "gauge") return "gauge";
  if (said === "reset" || previous === undefined) return "unknown";
  if (previous.counterResetHint === "gauge") return "unknown";
  return continues(histogram, previous) ? "not_reset" : "unknown";
}

function continues(current: FloatHistogram, previous: FloatHistogram): boolean {
  return (
    current.count >= previous.count &&
    current.schema === previous.schema &&
    current.zeroThreshold === previous.zeroThreshold &&
    (current.schema !== customBucketsSchema ||
      sameBounds(current.customValues, previous.customValues)) &&
    current.zeroCount >= previous.zeroCount &&
    keepsBuckets(positiveSide(current), positiveSide(previous)) &&
    keepsBuckets(negativeSide(current), negativeSide(previous))
  );
}

/** Whether every populated bucket still exists and counts no less. */
function keepsBuckets(current: Side, previous: Side): boolean {
  if (sameSpans(current.spans, previous.spans)) {
    return previous.buckets.every((count, at) => (current.buckets[at] as number) >= count);
  }
  const indexes = bucketIndexes(current);
  let at = 0;
  return bucketIndexes(previous).every((index, atBefore) => {
    while (at < indexes.length && (indexes[at] as number) < index) at += 1;
    const count = indexes[at] === index ? (current.buckets[at] as number) : 0;
    return count >= (previous.buckets[atBefore] as number);
  });
}
