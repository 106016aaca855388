/**
 * Which key comes next. Zipfian as YCSB has it: rank r is chosen in proportion to 1 / r^theta, by
 * Gray's approximation, and ranks are spread over the keys, so that hot keys are not neighbours.
 * Rules: KC1 to KC3.
 */
import type { Prng } from "../../../ground/kernel/prng.ts";

export type KeyDistribution = "uniform" | "zipfian" | "latest" | "sequential";

export interface KeyOptions {
  readonly distribution: KeyDistribution;
  readonly min: number;
  readonly max: number;
  readonly theta: number;
}

export function createKeyChooser(options: KeyOptions, prng: Prng): () => number {
  const { min, max, theta } = options;
  const count = max - min + 1;
  switch (options.distribution) {
    case "uniform":
      return () => min + below(prng, count);
    case "sequential": {
      let next = -1;
      return () => {
        next = (next + 1) % count;
        return min + next;
      };
    }
    case "zipfian": {
      const rank = createZipfian(count, theta, prng);
      return () => min + scatter(rank(), count);
    }
    case "latest": {
      const rank = createZipfian(count, theta, prng);
      return () => max - rank();
    }
  }
}

/** Ranks from 0, the most frequent first. */
export function createZipfian(count: number, theta: number, prng: Prng): () => number {
  const zetaN = zeta(count, theta);
  const zeta2 = zeta(2, theta);
  const alpha = 1 / (1 - theta);
  const eta = (1 - (2 / count) ** (1 - theta)) / (1 - zeta2 / zetaN);
  return () => {
    const u = prng.next();
    const uz = u * zetaN;
    if (uz < 1) return 0;
    if (count > 1 && uz < 1 + 0.5 ** theta) return 1;
    return Math.min(count - 1, Math.floor(count * (eta * u - eta + 1) ** alpha));
  };
}

/** Adds the first million terms and integrates the rest: exact to a millionth. */
export function zeta(count: number, theta: number): number {
  const exact = Math.min(count, 1_000_000);
  let sum = 0;
  for (let rank = exact; rank >= 1; rank -= 1) sum += rank ** -theta;
  if (count <= exact) return sum;
  const integral = (to: number): number => to ** (1 - theta) / (1 - theta);
  return sum + integral(count + 0.5) - integral(exact + 0.5);
}

/** Permutes the ranks: a bijection, so that no two ranks share a key. */
function scatter(rank: number, count: number): number {
  // A Feistel network over the next power of four, walked until it falls within the count.
  const halfBits = Math.max(1, Math.ceil(Math.log2(Math.max(2, count)) / 2));
  const half = 2 ** halfBits;
  let value = rank;
  do {
    let left = Math.floor(value / half);
    let right = value % half;
    for (let round = 0; round < 4; round += 1) {
      const mixed = Math.imul(right + 0x9e37 * (round + 1), 0x85ebca6b) >>> 0;
      const scrambled = ((mixed ^ (mixed >>> 15)) >>> 0) % half;
      [left, right] = [right, (left + scrambled) % half];
    }
    value = left * half + right;
  } while (value >= count);
  return value;
}

/** `Prng.below` has 32 bits; keys may have more. */
function below(prng: Prng, bound: number): number {
  if (bound <= 2 ** 32) return prng.below(bound);
  return Math.floor((prng.next() + prng.next() / 2 ** 32) * bound) % bound;
}
