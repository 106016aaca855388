/** Kahan's summation with Neumaier's improvement, as Prometheus sums. */

/**
 * What summation has lost once `increment` was added to `sum`, which made `total`. Kept apart from the sum so that
 * callers need no pair: `total = sum + increment; lost = lostAfter(increment, sum, total, lost)`.
 */
export function lostAfter(increment: number, sum: number, total: number, lost: number): number {
  // What is lost against an infinite sum means nothing, and would make it NaN.
  if (total > Number.MAX_VALUE || total < -Number.MAX_VALUE) return 0;
  return Math.abs(sum) >= Math.abs(increment)
    ? lost + (sum - total + increment)
    : lost + (increment - total + sum);
}
