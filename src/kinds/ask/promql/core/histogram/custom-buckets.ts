/** Combines histograms with different custom buckets, in the buckets that both have. */
import { lostAfter } from "./kahan.ts";
import { bucketIndexes, type Side, type SummedSide, spansOf } from "./layout.ts";

export function sameBounds(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (a[index] !== b[index]) return false;
  }
  return true;
}

/** Both inputs must be ascending. */
export function commonBounds(a: readonly number[], b: readonly number[]): number[] {
  const inB = new Set(b);
  return a.filter((bound) => inB.has(bound));
}

/** Counts by bucket of the common bounds; there is one bucket more than bounds. */
export class Rebucketing {
  readonly bounds: readonly number[];
  readonly sums: number[];
  readonly lost: number[];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.sums = new Array<number>(bounds.length + 1).fill(0);
    this.lost = new Array<number>(bounds.length + 1).fill(0);
  }

  /** Also adds `lost`, if given. */
  add(side: Side, from: readonly number[], sign: 1 | -1, lost?: readonly number[]): void {
    const indexes = bucketIndexes(side);
    let target = 0;
    for (let position = 0; position < indexes.length; position += 1) {
      const upper = from[indexes[position] as number];
      if (upper === undefined) target = this.bounds.length;
      while (target < this.bounds.length && (this.bounds[target] as number) < (upper as number)) {
        target += 1;
      }
      this.#accumulate(target, sign * (side.buckets[position] as number));
      if (lost !== undefined) this.#accumulate(target, lost[position] as number);
    }
  }

  /** Returns the side without empty buckets. */
  finish(): SummedSide {
    const indexes = new Int32Array(this.sums.length);
    const buckets: number[] = [];
    const lost: number[] = [];
    for (const [index, sum] of this.sums.entries()) {
      if (sum === 0 && this.lost[index] === 0) continue;
      indexes[buckets.length] = index;
      buckets.push(sum);
      lost.push(this.lost[index] as number);
    }
    return { spans: spansOf(indexes, buckets.length), buckets, lost };
  }

  #accumulate(at: number, increment: number): void {
    const sum = this.sums[at] as number;
    const total = sum + increment;
    this.lost[at] = lostAfter(increment, sum, total, this.lost[at] as number);
    this.sums[at] = total;
  }
}
