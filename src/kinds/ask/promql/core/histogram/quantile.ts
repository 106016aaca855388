/** Quantiles, fractions and variance of native histograms, interpolated within buckets. */
import { BucketWalk } from "./bucket-walk.ts";
import { customBucketsSchema, type FloatHistogram } from "./float-histogram.ts";
import { lostAfter } from "./kahan.ts";

/** `nan_result`: the quantile is NaN. `nan_skew`: NaN observations count as the greatest. */
export type QuantileNote = "nan_result" | "nan_skew";

/** Interpolates linearly in custom and zero buckets, logarithmically in exponential ones. */
export function histogramQuantile(
  quantile: number,
  histogram: FloatHistogram,
  note: (kind: QuantileNote) => void,
): number {
  if (quantile < 0) return Number.NEGATIVE_INFINITY;
  if (quantile > 1) return Number.POSITIVE_INFINITY;
  if (histogram.count === 0 || Number.isNaN(quantile)) return Number.NaN;
  const sumIsNan = Number.isNaN(histogram.sum);
  // From the nearer end, for precision. Missing NaN observations count at the upper end.
  const ascending = sumIsNan || quantile < 0.5;
  const walk = new BucketWalk(histogram, ascending ? "ascending" : "descending");
  let rank = (ascending ? quantile : 1 - quantile) * histogram.count;
  let count = 0;
  while (walk.next()) {
    count += walk.count;
    if (walk.count !== 0 && count >= rank) break;
  }
  const found = boundsFor(walk, histogram);
  if (histogram.schema === customBucketsSchema) {
    const isFirst = walk.lower === Number.NEGATIVE_INFINITY;
    if (isFirst && found.upper <= 0) return found.upper;
    if (!isFirst && found.upper === Number.POSITIVE_INFINITY) return found.lower;
  }
  count = Math.min(count, histogram.count);
  if (count < rank) {
    if (!sumIsNan) return found.upper;
    note("nan_result");
    return Number.NaN;
  }
  rank = ascending ? rank - (count - walk.count) : count - rank;
  if (sumIsNan) {
    // Like Prometheus, walks the remaining buckets and interpolates in the last one.
    let more = false;
    while (walk.next()) {
      more = true;
      count += walk.count;
    }
    if (count < histogram.count) note("nan_skew");
    if (more) {
      const last = { lower: walk.lower, upper: walk.upper };
      return interpolate(last, rank / walk.count, histogram);
    }
  }
  return interpolate(found, rank / walk.count, histogram);
}

interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** Without negative buckets, the zero bucket counts as positive, and the reverse. */
function boundsFor(walk: BucketWalk, histogram: FloatHistogram): Bounds {
  const { lower, upper } = walk;
  if (histogram.schema === customBucketsSchema) {
    return { lower: lower === Number.NEGATIVE_INFINITY ? 0 : lower, upper };
  }
  if (!(lower < 0 && upper > 0)) return { lower, upper };
  const hasPositive = histogram.positiveBuckets.length > 0;
  const hasNegative = histogram.negativeBuckets.length > 0;
  if (hasPositive && !hasNegative) return { lower: 0, upper };
  if (hasNegative && !hasPositive) return { lower, upper: 0 };
  return { lower, upper };
}

function interpolate(
  { lower, upper }: Bounds,
  fraction: number,
  histogram: FloatHistogram,
): number {
  if (histogram.schema === customBucketsSchema || (lower <= 0 && upper >= 0)) {
    return lower + (upper - lower) * fraction;
  }
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  return lower > 0
    ? 2 ** (logLower + (logUpper - logLower) * fraction)
    : -(2 ** (logUpper + (logLower - logUpper) * (1 - fraction)));
}

/** How far `value` is within a bucket with finite bounds, from 0 to 1. */
export function fractionBelow(
  lower: number,
  upper: number,
  value: number,
  linear: boolean,
): number {
  if (linear) return (value - lower) / (upper - lower);
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  const logValue = Math.log2(Math.abs(value));
  return value > 0
    ? (logValue - logLower) / (logUpper - logLower)
    : 1 - (logValue - logUpper) / (logLower - logUpper);
}

/** The fraction of observations between two values. `note` is set for NaN observations. */
export function histogramFraction(
  lower: number,
  upper: number,
  histogram: FloatHistogram,
  note: () => void,
): number {
  if (histogram.count === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  let lowerRank: number | undefined;
  let upperRank: number | undefined;
  let rank = 0;
  let count = 0;
  const walk = new BucketWalk(histogram, "ascending");
  while ((lowerRank === undefined || upperRank === undefined) && walk.next()) {
    count += walk.count;
    const bucket = fractionBucket(walk, histogram);
    lowerRank ??= rankWithin(bucket, rank, lower);
    upperRank ??= rankWithin(bucket, rank, upper);
    rank += walk.count;
  }
  if (Number.isNaN(histogram.sum)) {
    while (walk.next()) count += walk.count;
    if (count < histogram.count) note();
  } else {
    count = histogram.count;
  }
  const from = lowerRank === undefined || lowerRank > count ? count : lowerRank;
  const to = upperRank === undefined || upperRank > count ? count : upperRank;
  return (to - from) / histogram.count;
}

interface FractionBucket extends Bounds {
  readonly count: number;
  readonly linear: boolean;
}

function fractionBucket(walk: BucketWalk, histogram: FloatHistogram): FractionBucket {
  const { lower, upper, count } = walk;
  const custom = histogram.schema === customBucketsSchema;
  if (!(lower <= 0 && upper >= 0)) return { lower, upper, count, linear: custom };
  const hasPositive = histogram.positiveBuckets.length > 0;
  const hasNegative = histogram.negativeBuckets.length > 0;
  return {
    lower: hasPositive && !hasNegative ? 0 : lower,
    upper: hasNegative && !hasPositive ? 0 : upper,
    count,
    linear: true,
  };
}

/** How many observations are below `value`; `rank` counts those below the bucket. */
function rankWithin(bucket: FractionBucket, rank: number, value: number): number | undefined {
  const { lower, upper, count, linear } = bucket;
  if (lower >= value) return rank;
  if (!(upper > value)) return undefined;
  // An infinite bucket cannot be interpolated.
  if (linear && lower === Number.NEGATIVE_INFINITY) return count;
  return rank + count * fractionBelow(lower, upper, value, linear);
}

/** Takes each observation at the middle of its bucket: the geometric mean for exponential ones. */
export function histogramVariance(histogram: FloatHistogram): number {
  const mean = histogram.sum / histogram.count;
  const custom = histogram.schema === customBucketsSchema;
  let variance = 0;
  let lost = 0;
  const walk = new BucketWalk(histogram, "ascending");
  while (walk.next()) {
    if (walk.count === 0) continue;
    const delta = middle(walk.lower, walk.upper, custom) - mean;
    const increment = walk.count * delta * delta;
    const total = variance + increment;
    lost = lostAfter(increment, variance, total, lost);
    variance = total;
  }
  return (variance + lost) / histogram.count;
}

function middle(lower: number, upper: number, custom: boolean): number {
  if (custom) return (upper + lower) / 2;
  if (lower <= 0 && upper >= 0) return 0;
  const mean = Math.sqrt(upper * lower);
  return upper < 0 ? -mean : mean;
}
