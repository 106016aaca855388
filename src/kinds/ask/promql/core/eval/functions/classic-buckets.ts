/**
 * Quantiles and fractions of classic histograms: cumulative counts by upper bound. The bounds are
 * strictly ascending. Only the first `size` elements of the arrays are valid, so that callers reuse
 * them at every step.
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

  /** Bounds come in ascending order; equal bounds are merged into one bucket. */
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

  /** Whether there is a +Inf bucket, without which there is no quantile. */
  get isComplete(): boolean {
    return this.size > 0 && this.bounds[this.size - 1] === Number.POSITIVE_INFINITY;
  }
}

/** Counts that differ by less than this part of their sum differ by rounding only. */
const tolerance = 1e-12;

/** What `forceMonotonic` changed. */
export interface Monotonicity {
  bucketMin: number;
  bucketMax: number;
  diffMax: number;
}

/** Makes the counts ascend. Undefined when they differed by rounding at most. */
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

/** `buckets` are complete and monotonic; `quantile` is from 0 to 1. */
export function classicQuantile(quantile: number, buckets: ClassicBuckets): number {
  const { bounds, counts, size } = buckets;
  if (size < 2) return Number.NaN;
  const observations = counts[size - 1] as number;
  if (observations === 0) return Number.NaN;
  const rank = quantile * observations;
  const found = firstAtLeast(counts, size - 1, rank);
  // The upper end of the last bucket is unknown.
  if (found === size - 1) return bounds[size - 2] as number;
  const end = bounds[found] as number;
  if (found === 0) return end <= 0 ? end : end * (rank / (counts[0] as number));
  const start = bounds[found - 1] as number;
  const below = counts[found - 1] as number;
  return start + (end - start) * ((rank - below) / ((counts[found] as number) - below));
}

/** The index of the first of `length` ascending counts that is at least `rank`, or `length`. */
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

/** The fraction of the observations between two values. */
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

/** A bucket without a lower bound cannot be interpolated. */
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
