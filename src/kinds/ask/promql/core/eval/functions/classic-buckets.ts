/**
 * Quantiles and fractions of classic histograms: cumulative counts by upper bound. The bounds ascend and differ, and
 * only the first `size` elements of the arrays mean anything, so that callers fill the same arrays at every step.
 */
import { nearlyEqual } from "../../histogram/equality.ts";

export class ClassicBuckets {
  readonly bounds: Float64Array;
  readonly counts: Float64Array;
  size = 0;

  constructor(capacity: number) {
    this.bounds = new Float64Array(capacity);
    this.counts = new Float64Array(capacity);
  }

  clear(): void {
    this.size = 0;
  }

  /** Bounds come in ascending order; what has the same bound is one bucket. */
  push(bound: number, count: number): void {
    const last = this.size - 1;
    if (last >= 0 && this.bounds[last] === bound) {
      this.counts[last] = (this.counts[last] as number) + count;
      return;
    }
    this.bounds[this.size] = bound;
    this.counts[this.size] = count;
    this.size += 1;
  }

  /** Without a bucket for everything, nothing can be said. */
  get isComplete(): boolean {
    return this.size > 0 && this.bounds[this.size - 1] === Number.POSITIVE_INFINITY;
  }
}

/** Counts that differ by less than this part of their sum differ by rounding only. */
const tolerance = 1e-12;

/** What `forceMonotonic` had to change. */
export interface Monotonicity {
  bucketMin: number;
  bucketMax: number;
  diffMax: number;
}

/**
 * Makes every count at least that of the bucket before it. Differences by rounding are removed in silence; `undefined`
 * if there was no other.
 */
export function forceMonotonic({ bounds, counts, size }: ClassicBuckets): Monotonicity | undefined {
  let forced: Monotonicity | undefined;
  let before = counts[0] as number;
  for (let index = 1; index < size; index += 1) {
    const count = counts[index] as number;
    if (count === before) continue;
    if (nearlyEqual(before, count, tolerance)) {
      counts[index] = before;
      continue;
    }
    if (!(count < before)) {
      before = count;
      continue;
    }
    counts[index] = before;
    const bound = bounds[index] as number;
    forced ??= { bucketMin: bound, bucketMax: bound, diffMax: 0 };
    forced.bucketMax = bound;
    forced.diffMax = Math.max(forced.diffMax, before - count);
  }
  return forced;
}

/** Of buckets that are complete and monotonic. The quantile is from 0 to 1. */
export function classicQuantile(quantile: number, buckets: ClassicBuckets): number {
  const { bounds, counts, size } = buckets;
  if (size < 2) return Number.NaN;
  const observations = counts[size - 1] as number;
  if (observations === 0) return Number.NaN;
  const rank = quantile * observations;
  const found = firstAtLeast(counts, size - 1, rank);
  // Nothing is known about how far the last bucket reaches.
  if (found === size - 1) return bounds[size - 2] as number;
  const end = bounds[found] as number;
  if (found === 0) return end <= 0 ? end : end * (rank / (counts[0] as number));
  const start = bounds[found - 1] as number;
  const below = counts[found - 1] as number;
  return start + (end - start) * ((rank - below) / ((counts[found] as number) - below));
}

/** The first of `length` ascending counts that is at least `rank`, or `length`. */
function firstAtLeast(counts: Float64Array, length: number, rank: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((counts[middle] as number) >= rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The part of the observations between two values. */
export function classicFraction(lower: number, upper: number, buckets: ClassicBuckets): number {
  const { counts, size } = buckets;
  const total = counts[size - 1] as number;
  if (total === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  return (rankOf(upper, buckets) - rankOf(lower, buckets)) / total;
}

/** How many observations are below `value`. */
function rankOf(value: number, { bounds, counts, size }: ClassicBuckets): number {
  const total = counts[size - 1] as number;
  let start = (bounds[0] as number) <= 0 ? Number.NEGATIVE_INFINITY : 0;
  let rank = 0;
  for (let index = 0; index < size; index += 1) {
    const end = bounds[index] as number;
    const count = counts[index] as number;
    if (start >= value) return Math.min(rank, total);
    if (end > value) return Math.min(interpolatedRank(value, rank, count, start, end), total);
    start = end;
    rank = count;
  }
  return total;
}

/** Within a bucket that has no start there is nothing to interpolate. */
function interpolatedRank(
  value: number,
  rank: number,
  count: number,
  start: number,
  end: number,
): number {
  if (start === Number.NEGATIVE_INFINITY) return count;
  return rank + ((count - rank) * (value - start)) / (end - start);
}
