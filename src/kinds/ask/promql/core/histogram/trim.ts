/** Trims a histogram to what is below or above a value: the operators `</` and `>/`. */
import { BucketWalk } from "./bucket-walk.ts";
import { customBucketsSchema, type FloatHistogram } from "./float-histogram.ts";
import { fractionBelow } from "./quantile.ts";
import { compactHistogram } from "./scale.ts";

export type TrimKeep = "below" | "above";

/** How many observations of a bucket remain, and the value that stands for them. */
interface Kept {
  readonly count: number;
  readonly middle: number;
}

interface TrimBucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** Count and sum are estimated from what remains, unless all of it does. */
export function trimHistogram(
  histogram: FloatHistogram,
  at: number,
  keep: TrimKeep,
): FloatHistogram {
  const total = { count: 0, sum: 0, trimmed: false };
  const positive = trimSide(histogram, "positive", at, keep, total);
  const negative = trimSide(histogram, "negative", at, keep, total);
  let { zeroCount } = histogram;
  if (zeroCount > 0) {
    const kept = trimZeroBucket(histogram, at, keep, positive.populated, negative.populated);
    if (kept.count !== zeroCount) total.trimmed = true;
    zeroCount = kept.count;
    total.sum += kept.middle * kept.count;
    total.count += kept.count;
  }
  if (!total.trimmed) return histogram;
  return compactHistogram({
    ...histogram,
    zeroCount,
    count: total.count,
    sum: total.sum,
    positiveBuckets: positive.buckets,
    negativeBuckets: negative.buckets,
  });
}

function trimSide(
  histogram: FloatHistogram,
  side: "positive" | "negative",
  at: number,
  keep: TrimKeep,
  total: { count: number; sum: number; trimmed: boolean },
): { buckets: readonly number[]; populated: boolean } {
  const before = side === "positive" ? histogram.positiveBuckets : histogram.negativeBuckets;
  const buckets = before.slice();
  const linear = histogram.schema === customBucketsSchema;
  let populated = false;
  const walk = new BucketWalk(histogram, side);
  while (walk.next()) {
    const { lower, upper, count, position } = walk;
    if (count === 0) continue;
    populated = true;
    const kept = trimBucket({ lower, upper, count }, at, keep, side === "positive", linear);
    buckets[position] = kept?.count ?? 0;
    if (kept === undefined || kept.count !== count) total.trimmed = true;
    if (kept === undefined) continue;
    total.count += kept.count;
    total.sum += kept.middle * kept.count;
  }
  return { buckets, populated };
}

/** Undefined when nothing remains. */
function trimBucket(
  bucket: TrimBucket,
  at: number,
  keep: TrimKeep,
  positive: boolean,
  linear: boolean,
): Kept | undefined {
  const { lower, upper, count } = bucket;
  const whole = keep === "below" ? upper <= at : lower >= at;
  if (whole) return { count, middle: middleOf(lower, upper, positive, linear) };
  const cut = keep === "below" ? lower < at : upper > at;
  if (!cut) return undefined;
  if (lower === Number.NEGATIVE_INFINITY) return trimFromMinusInfinity(bucket, at, keep);
  if (upper === Number.POSITIVE_INFINITY) {
    // The distribution is unknown, so all observations may be above, and none is certainly below.
    return keep === "below" || at < lower
      ? { count: 0, middle: finiteOrZero(lower) }
      : { count, middle: at };
  }
  const below = countBelow(bucket, at, linear);
  return keep === "below"
    ? { count: below, middle: middleOf(lower, at, positive, linear) }
    : { count: count - below, middle: middleOf(at, upper, positive, linear) };
}

/** Only custom buckets start there. The first one counts as starting at 0 if it ends above 0. */
function trimFromMinusInfinity({ upper, count }: TrimBucket, at: number, keep: TrimKeep): Kept {
  const finite = upper !== Number.POSITIVE_INFINITY;
  if (keep === "below") {
    if (at >= upper) return { count, middle: 0 };
    if (at > 0 && upper > 0 && finite) return { count: (count * at) / upper, middle: at / 2 };
    if (upper <= 0) return { count, middle: at };
  } else {
    if (at === Number.NEGATIVE_INFINITY) return { count, middle: 0 };
    if (at >= 0 && upper > at && finite) {
      return { count: count * (1 - at / upper), middle: (at + upper) / 2 };
    }
  }
  return { count: 0, middle: finiteOrZero(upper) };
}

function trimZeroBucket(
  histogram: FloatHistogram,
  at: number,
  keep: TrimKeep,
  hasPositive: boolean,
  hasNegative: boolean,
): Kept {
  const { zeroThreshold, zeroCount } = histogram;
  const lower = hasPositive && !hasNegative ? 0 : -zeroThreshold;
  const upper = hasNegative && !hasPositive ? 0 : zeroThreshold;
  const middle = (lower + upper) / 2;
  if (keep === "below") {
    if (at <= lower) return { count: 0, middle: 0 };
    if (at >= upper) return { count: zeroCount, middle };
    return { count: zeroCount * ((at - lower) / (upper - lower)), middle: (lower + at) / 2 };
  }
  if (at <= lower) return { count: zeroCount, middle };
  if (at >= upper) return { count: 0, middle: 0 };
  return { count: zeroCount * ((upper - at) / (upper - lower)), middle: (at + upper) / 2 };
}

function countBelow({ lower, upper, count }: TrimBucket, at: number, linear: boolean): number {
  if (at <= lower) return 0;
  if (at >= upper) return count;
  return count * fractionBelow(lower, upper, at, linear);
}

function middleOf(lower: number, upper: number, positive: boolean, linear: boolean): number {
  if (!isFiniteBound(lower)) {
    if (!isFiniteBound(upper)) return 0;
    return upper > 0 ? upper / 2 : upper;
  }
  if (!isFiniteBound(upper)) return lower;
  if (linear) return (lower + upper) / 2;
  const mean = Math.sqrt(Math.abs(lower * upper));
  return positive ? mean : -mean;
}

function isFiniteBound(bound: number): boolean {
  return bound !== Number.POSITIVE_INFINITY && bound !== Number.NEGATIVE_INFINITY;
}

function finiteOrZero(bound: number): number {
  return isFiniteBound(bound) ? bound : 0;
}
