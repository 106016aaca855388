/**
 * Combines zero buckets of different widths, at a width that contains both and cuts no populated
 * bucket of either.
 */
import { exponentialBound } from "./bounds.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { lostAfter } from "./kahan.ts";
import { bucketIndexes, type Side } from "./layout.ts";

/** The count of a zero bucket, and its compensation. */
export interface ZeroBucket {
  readonly threshold: number;
  readonly count: number;
  readonly lost: number;
}

/** A side, with the compensations of its buckets while they are summed. */
export interface LossySide extends Side {
  readonly lost?: readonly number[];
}

interface Sum {
  total: number;
  lost: number;
}

/**
 * Widens the zero bucket; unchanged if `threshold` is not greater, or NaN. A threshold within a
 * populated bucket moves to its end, which may include buckets of the other side, so everything is
 * counted again.
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
    // Like Prometheus, restarts the count, but not the compensation.
    sum.total = zero.count;
    reach = swallow(sum, positive, schema, reached);
  }
}

/** Adds the buckets that begin below `threshold`. Returns it, moved to a populated one's end. */
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

/** The histogram with other buckets. */
export function withSides(
  histogram: FloatHistogram,
  positive: Side,
  negative: Side,
): FloatHistogram {
  return {
    ...histogram,
    positiveSpans: positive.spans,
    positiveBuckets: positive.buckets,
    negativeSpans: negative.spans,
    negativeBuckets: negative.buckets,
  };
}

export function negativeSide(histogram: FloatHistogram): Side {
  return { spans: histogram.negativeSpans, buckets: histogram.negativeBuckets };
}
