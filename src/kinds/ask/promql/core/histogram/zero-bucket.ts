/**
 * Histograms with zero buckets of different widths are combined at a width that contains both and ends at a bound of
 * no populated bucket of either.
 */
import { exponentialBound } from "./bounds.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { lostAfter } from "./kahan.ts";
import { bucketIndexes, type Side } from "./layout.ts";

/** What a zero bucket counts, and what the summation of it has lost. */
export interface ZeroBucket {
  readonly threshold: number;
  readonly count: number;
  readonly lost: number;
}

/** A side, and what its buckets have lost if they are being summed up. */
export interface LossySide extends Side {
  readonly lost?: readonly number[];
}

interface Sum {
  total: number;
  lost: number;
}

/**
 * The zero bucket at a greater threshold; as it is if the threshold is not greater, or NaN. A threshold within a populated bucket moves up to
 * the end of that bucket, which may swallow buckets of the other side, so everything is then counted again.
 */
export function widenZeroBucket(
  zero: ZeroBucket,
  positive: LossySide,
  negative: LossySide,
  schema: number,
  threshold: number,
): ZeroBucket {
  if (!(threshold > zero.threshold)) return zero;
  const sum: Sum = { total: zero.count, lost: zero.lost };
  let reach = swallow(sum, positive, schema, threshold);
  for (;;) {
    const reached = swallow(sum, negative, schema, reach);
    if (reached === reach) return { threshold: reach, count: sum.total, lost: sum.lost };
    // Prometheus begins again with the count, but not with what was lost.
    sum.total = zero.count;
    reach = swallow(sum, positive, schema, reached);
  }
}

/** Adds the buckets that begin below `threshold`. Returns the threshold, moved to the end of the last if populated. */
function swallow(sum: Sum, side: LossySide, schema: number, threshold: number): number {
  const indexes = bucketIndexes(side);
  for (let position = 0; position < indexes.length; position += 1) {
    const index = indexes[position] as number;
    if (exponentialBound(index - 1, schema) >= threshold) return threshold;
    const count = side.buckets[position] as number;
    addTo(sum, count);
    if (side.lost !== undefined) addTo(sum, side.lost[position] as number);
    const end = exponentialBound(index, schema);
    if (end > threshold) return count === 0 ? threshold : end;
  }
  return threshold;
}

function addTo(sum: Sum, increment: number): void {
  const total = sum.total + increment;
  sum.lost = lostAfter(increment, sum.total, total, sum.lost);
  sum.total = total;
}

/** How many buckets of a side begin within the zero bucket. */
export function countBeginningWithin(side: Side, schema: number, threshold: number): number {
  const indexes = bucketIndexes(side);
  let count = 0;
  while (
    count < indexes.length &&
    exponentialBound((indexes[count] as number) - 1, schema) < threshold
  ) {
    count += 1;
  }
  return count;
}

export function zeroBucketOf(histogram: FloatHistogram): ZeroBucket {
  return { threshold: histogram.zeroThreshold, count: histogram.zeroCount, lost: 0 };
}

export function positiveSide(histogram: FloatHistogram): Side {
  return { spans: histogram.positiveSpans, buckets: histogram.positiveBuckets };
}

export function negativeSide(histogram: FloatHistogram): Side {
  return { spans: histogram.negativeSpans, buckets: histogram.negativeBuckets };
}
