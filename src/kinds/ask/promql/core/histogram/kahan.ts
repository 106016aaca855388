/** Kahan's summation with Neumaier's improvement, as in Prometheus. */

/**
 * The compensation after `increment` was added to `sum`, which gave `total`. Usage: `total = sum +
 * increment; lost = lostAfter(increment, sum, total, lost)`.
 */
export function lostAfter(increment: number, sum: number, total: number, lost: number): number {
  // A compensation of an infinite sum has no meaning, and would make it NaN.
  if (total > Number.MAX_VALUE || total < -Number.MAX_VALUE) return 0;
  return Math.abs(sum) >= Math.abs(increment)
    ? lost + (sum - total + increment)
    : lost + (increment - total + sum);
}
