/** What tells a difference from noise. */
import type { Prng } from "../../kernel/prng.ts";

/**
 * The chance that two samples of one distribution differ by ranks as much as these: Mann and Whitney's test, two-sided, by its normal
 * approximation, with ties. 1 where there is nothing to compare.
 */
export function mannWhitneyP(left: readonly number[], right: readonly number[]): number {
  const [m, n] = [left.length, right.length];
  if (m === 0 || n === 0) return 1;
  const all = [
    ...left.map((value) => ({ value, isLeft: true })),
    ...right.map((value) => ({ value, isLeft: false })),
  ].sort((a, b) => a.value - b.value);
  let rankSum = 0;
  let ties = 0;
  for (let from = 0; from < all.length; ) {
    let to = from + 1;
    while (to < all.length && all[to]?.value === all[from]?.value) to += 1;
    const rank = (from + 1 + to) / 2;
    for (let at = from; at < to; at += 1) if (all[at]?.isLeft) rankSum += rank;
    ties += (to - from) ** 3 - (to - from);
    from = to;
  }
  const u = rankSum - (m * (m + 1)) / 2;
  const total = m + n;
  const variance = ((m * n) / 12) * (total + 1 - ties / (total * (total - 1)));
  if (variance <= 0) return 1;
  const distance = Math.max(0, Math.abs(u - (m * n) / 2) - 0.5);
  if (distance === 0) return 1;
  return Math.min(1, 2 * normalTail(distance / Math.sqrt(variance)));
}

/** Above `z`, of the standard normal distribution; Abramowitz and Stegun 7.1.26, off by at most 1.5e-7. */
function normalTail(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const poly =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return (poly * Math.exp(-x * x)) / 2;
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

const resamples = 400;

/** Between which changes, in percent, the true change of the median lies, 95 times of 100. */
export function bootstrapChangePct(
  before: readonly number[],
  after: readonly number[],
  prng: Prng,
): readonly [low: number, high: number] {
  const drawBefore = medianDrawer(before, prng);
  const drawAfter = medianDrawer(after, prng);
  const changes: number[] = [];
  for (let turn = 0; turn < resamples; turn += 1) {
    const base = drawBefore();
    if (base > 0) changes.push((drawAfter() / base - 1) * 100);
  }
  changes.sort((a, b) => a - b);
  const at = (share: number): number => changes[Math.floor(share * (changes.length - 1))] ?? 0;
  return [at(0.025), at(0.975)];
}

/** The median of as many values, drawn with replacement: by counting ranks, for sorting each time is slow. */
function medianDrawer(values: readonly number[], prng: Prng): () => number {
  const sorted = values.toSorted((a, b) => a - b);
  const drawn = new Uint32Array(sorted.length);
  return () => {
    drawn.fill(0);
    for (let turn = 0; turn < sorted.length; turn += 1) {
      const rank = prng.below(sorted.length);
      drawn[rank] = (drawn[rank] ?? 0) + 1;
    }
    let seen = 0;
    const rank = drawn.findIndex((count) => {
      seen += count;
      return seen * 2 >= sorted.length;
    });
    return sorted[rank] ?? 0;
  };
}
