/** Statistics that separate a difference from noise. */
import type { Prng } from "../../../ground/kernel/prng.ts";

/**
 * The chance that two samples of one distribution differ by ranks as much as these: Mann and
 * Whitney's test, two-sided, by its normal approximation, with ties. 1 where there is nothing to
 * compare.
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

/**
 * The probability above `z` in the standard normal distribution; Abramowitz and Stegun 7.1.26,
 * error at most 1.5e-7.
 */
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

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const resamples = 200;
const shares = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

/** A block of a run's seconds. */
export interface BlockFigures {
  readonly seconds: number;
  readonly successes: number;
  /** Latency buckets, in order. */
  readonly buckets: readonly {
    readonly lowUs: number;
    readonly highUs: number;
    readonly count: number;
  }[];
}

type Changes = Readonly<Record<"qps" | keyof typeof shares, readonly number[]>>;

/**
 * Changes, as factors, between runs that are resampled from blocks with replacement. Their spread
 * shows how far noise alone moves a figure of a whole run.
 */
export function bootstrapChanges(
  before: readonly BlockFigures[],
  after: readonly BlockFigures[],
  prng: Prng,
): Changes {
  const [drawBefore, drawAfter] = [runDrawer(before, prng), runDrawer(after, prng)];
  const changes = { qps: [], p50: [], p95: [], p99: [] } as Record<keyof Changes, number[]>;
  for (let turn = 0; turn < resamples; turn += 1) {
    const [old, now] = [drawBefore(), drawAfter()];
    for (const name of Object.keys(changes) as (keyof Changes)[]) {
      if (old[name] > 0 && now[name] > 0) changes[name].push(now[name] / old[name]);
    }
  }
  return changes;
}

function runDrawer(
  blocks: readonly BlockFigures[],
  prng: Prng,
): () => Record<keyof Changes, number> {
  const edges = [
    ...new Set(blocks.flatMap(({ buckets }) => buckets.map(({ lowUs }) => lowUs))),
  ].sort((a, b) => a - b);
  const place = new Map(edges.map((lowUs, at) => [lowUs, at]));
  const middles = new Float64Array(edges.length);
  // Flat arrays: two runs of a minute are drawn 400 times, 24,000 blocks in all.
  const sparse = blocks.map(({ buckets }) => {
    const places = new Int32Array(buckets.length);
    const counted = new Float64Array(buckets.length);
    for (const [index, { lowUs, highUs, count }] of buckets.entries()) {
      const at = place.get(lowUs) ?? 0;
      middles[at] = (lowUs + highUs - 1) / 2;
      places[index] = at;
      counted[index] = count;
    }
    return { places, counted };
  });
  const counts = new Float64Array(edges.length);
  const percentile = (share: number, total: number): number => {
    let seen = 0;
    for (let at = 0; at < counts.length; at += 1) {
      seen += counts[at] as number;
      if (seen >= share * total) return middles[at] as number;
    }
    return 0;
  };
  return () => {
    counts.fill(0);
    let [seconds, successes, total] = [0, 0, 0];
    for (let turn = 0; turn < blocks.length; turn += 1) {
      const drawn = prng.below(blocks.length);
      const [block, columns] = [blocks[drawn], sparse[drawn]];
      if (block === undefined || columns === undefined) continue;
      seconds += block.seconds;
      successes += block.successes;
      const { places, counted } = columns;
      for (let index = 0; index < places.length; index += 1) {
        const count = counted[index] as number;
        const at = places[index] as number;
        counts[at] = (counts[at] as number) + count;
        total += count;
      }
    }
    return {
      qps: seconds > 0 ? successes / seconds : 0,
      p50: percentile(shares.p50, total),
      p95: percentile(shares.p95, total),
      p99: percentile(shares.p99, total),
    };
  };
}
