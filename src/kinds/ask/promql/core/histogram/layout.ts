/**
 * One side of a histogram: spans say which buckets exist, `buckets` has their counts. Functions
 * here never write to their arguments, and return spans without empty gaps and runs.
 */
import { exponentialBound, isExponentialSchema } from "./bounds.ts";
import type { Span } from "./float-histogram.ts";
import { lostAfter } from "./kahan.ts";

export interface Side {
  readonly spans: readonly Span[];
  readonly buckets: readonly number[];
}

export const emptySide: Side = { spans: [], buckets: [] };

/** The index of every bucket within its schema. */
export function bucketIndexes({ spans, buckets }: Side): Int32Array {
  const indexes = new Int32Array(buckets.length);
  let position = 0;
  let index = 0;
  for (const { offset, length } of spans) {
    index += offset;
    const end = Math.min(position + length, indexes.length);
    for (; position < end; position += 1) {
      indexes[position] = index;
      index += 1;
    }
  }
  return indexes;
}

/** The spans of the first `count` indexes, which must ascend. */
export function spansOf(indexes: Int32Array, count: number): Span[] {
  const spans: Span[] = [];
  let end = 0;
  let position = 0;
  while (position < count) {
    const start = indexes[position] as number;
    let next = start + 1;
    position += 1;
    while (position < count && indexes[position] === next) {
      next += 1;
      position += 1;
    }
    spans.push({ offset: start - end, length: next - start });
    end = next;
  }
  return spans;
}

/**
 * Whether the spans are equal. Histograms of a series often share them, so identity is tried first.
 */
export function sameSpans(a: readonly Span[], b: readonly Span[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    const left = a[index] as Span;
    const right = b[index] as Span;
    if (left.offset !== right.offset || left.length !== right.length) return false;
  }
  return true;
}

/** The number of first buckets that end within the zero bucket, whose count includes theirs. */
export function countWithinZero(side: Side, schema: number, zeroThreshold: number): number {
  if (!isExponentialSchema(schema)) return 0;
  let within = 0;
  let index = 0;
  for (const { offset, length } of side.spans) {
    index += offset;
    for (let inSpan = 0; inSpan < length; inSpan += 1) {
      if (!(exponentialBound(index, schema) <= zeroThreshold)) return within;
      within += 1;
      index += 1;
    }
  }
  return within;
}

/** Greater than every bucket index. */
const indexMax = 0x7fff_ffff;

/** The union of the buckets of two sides, with the position of each bucket in it. */
interface Union {
  readonly spans: readonly Span[];
  readonly count: number;
  readonly positionsA: Int32Array;
  /** -1 - position for a bucket that `a` does not have. Unset for those left out. */
  readonly positionsB: Int32Array;
}

function unite(a: Side, b: Side, skipB: number): Union {
  const indexesA = bucketIndexes(a);
  const indexesB = bucketIndexes(b);
  const merged = new Int32Array(indexesA.length + indexesB.length);
  const positionsA = new Int32Array(indexesA.length);
  const positionsB = new Int32Array(indexesB.length);
  let count = 0;
  let atA = 0;
  let atB = skipB;
  while (atA < indexesA.length || atB < indexesB.length) {
    const indexA = atA < indexesA.length ? (indexesA[atA] as number) : indexMax;
    const indexB = atB < indexesB.length ? (indexesB[atB] as number) : indexMax;
    if (indexA <= indexB) {
      positionsA[atA] = count;
      atA += 1;
      merged[count] = indexA;
    }
    if (indexB <= indexA) {
      positionsB[atB] = indexA === indexB ? count : -1 - count;
      atB += 1;
      merged[count] = indexB;
    }
    count += 1;
  }
  return { spans: spansOf(merged, count), count, positionsA, positionsB };
}

/** `a` plus `sign` times `b`, in the same schema, without the first `skipB` buckets of `b`. */
export function addSides(a: Side, b: Side, sign: 1 | -1, skipB: number): Side {
  if (b.buckets.length === skipB) return a;
  if (skipB === 0 && sameSpans(a.spans, b.spans)) {
    const sums = a.buckets.slice();
    for (let index = 0; index < sums.length; index += 1) {
      sums[index] = (sums[index] as number) + sign * (b.buckets[index] as number);
    }
    return { spans: a.spans, buckets: sums };
  }
  const { spans, count, positionsA, positionsB } = unite(a, b, skipB);
  const sums = new Array<number>(count).fill(0);
  for (let index = 0; index < positionsA.length; index += 1) {
    sums[positionsA[index] as number] = a.buckets[index] as number;
  }
  for (let index = skipB; index < positionsB.length; index += 1) {
    const position = positionsB[index] as number;
    const value = sign * (b.buckets[index] as number);
    if (position < 0) sums[-1 - position] = value;
    else sums[position] = (sums[position] as number) + value;
  }
  return { spans, buckets: sums };
}

/** A side being summed, which owns its arrays; `lost` has the compensation of each bucket. */
export interface SummedSide {
  spans: readonly Span[];
  buckets: number[];
  lost: number[];
}

export function summedSide({ spans, buckets }: Side): SummedSide {
  return { spans, buckets: buckets.slice(), lost: buckets.map(() => 0) };
}

/** Adds `b` to `target`, in place if they have the same buckets. `lostB` is optional. */
export function accumulateSide(
  target: SummedSide,
  b: Side,
  lostB: readonly number[] | undefined,
  skipB: number,
): void {
  if (b.buckets.length === skipB) return;
  if (skipB === 0 && lostB === undefined && sameSpans(target.spans, b.spans)) {
    const { buckets, lost } = target;
    for (let index = 0; index < buckets.length; index += 1) {
      const sum = buckets[index] as number;
      const increment = b.buckets[index] as number;
      const total = sum + increment;
      lost[index] = lostAfter(increment, sum, total, lost[index] as number);
      buckets[index] = total;
    }
    return;
  }
  const { spans, count, positionsA, positionsB } = unite(target, b, skipB);
  const buckets = new Array<number>(count).fill(0);
  const lost = new Array<number>(count).fill(0);
  for (let index = 0; index < positionsA.length; index += 1) {
    const position = positionsA[index] as number;
    buckets[position] = target.buckets[index] as number;
    lost[position] = target.lost[index] as number;
  }
  for (let index = skipB; index < positionsB.length; index += 1) {
    const position = positionsB[index] as number;
    const value = b.buckets[index] as number;
    const valueLost = lostB?.[index] ?? 0;
    if (position < 0) {
      buckets[-1 - position] = value;
      lost[-1 - position] = valueLost;
      continue;
    }
    accumulate(buckets, lost, position, value);
    if (valueLost !== 0) accumulate(buckets, lost, position, valueLost);
  }
  target.spans = spans;
  target.buckets = buckets;
  target.lost = lost;
}

function accumulate(sums: number[], lost: number[], at: number, increment: number): void {
  const sum = sums[at] as number;
  const total = sum + increment;
  lost[at] = lostAfter(increment, sum, total, lost[at] as number);
  sums[at] = total;
}

/** The bucket of a coarser schema that contains the bucket of a finer one. */
function coarserIndex(index: number, shift: number): number {
  return ((index - 1) >> shift) + 1;
}

/** Converts to the wider buckets of the schema `shift` below. */
export function coarsenSide(side: Side, shift: number): Side {
  const indexes = bucketIndexes(side);
  const buckets: number[] = [];
  for (let position = 0; position < indexes.length; position += 1) {
    const index = coarserIndex(indexes[position] as number, shift);
    const value = side.buckets[position] as number;
    const last = buckets.length - 1;
    if (last >= 0 && indexes[last] === index) {
      buckets[last] = (buckets[last] as number) + value;
      continue;
    }
    // Never more buckets than were read, so the indexes are overwritten behind the reader.
    indexes[buckets.length] = index;
    buckets.push(value);
  }
  return { spans: spansOf(indexes, buckets.length), buckets };
}

/** Like `coarsenSide`, with the compensations. */
export function coarsenSummed(side: SummedSide, shift: number): SummedSide {
  const indexes = bucketIndexes(side);
  const buckets: number[] = [];
  const lost: number[] = [];
  for (let position = 0; position < indexes.length; position += 1) {
    const index = coarserIndex(indexes[position] as number, shift);
    const value = side.buckets[position] as number;
    const valueLost = side.lost[position] as number;
    const last = buckets.length - 1;
    if (last >= 0 && indexes[last] === index) {
      accumulate(buckets, lost, last, value);
      accumulate(buckets, lost, last, valueLost);
      continue;
    }
    indexes[buckets.length] = index;
    buckets.push(value);
    lost.push(valueLost);
  }
  return { spans: spansOf(indexes, buckets.length), buckets, lost };
}

/** Removes empty buckets. Returns the same side if there are none. */
export function compactSide(side: Side): Side {
  if (isCompact(side)) return side;
  const indexes = bucketIndexes(side);
  const buckets: number[] = [];
  for (let position = 0; position < indexes.length; position += 1) {
    if (side.buckets[position] === 0) continue;
    // Never more buckets than were read, so the indexes are overwritten behind the reader.
    indexes[buckets.length] = indexes[position] as number;
    buckets.push(side.buckets[position] as number);
  }
  return { spans: spansOf(indexes, buckets.length), buckets };
}

function isCompact({ spans, buckets }: Side): boolean {
  for (let index = 0; index < buckets.length; index += 1) {
    if (buckets[index] === 0) return false;
  }
  for (let index = 0; index < spans.length; index += 1) {
    const { offset, length } = spans[index] as Span;
    if (length === 0 || (index > 0 && offset === 0)) return false;
  }
  return true;
}

/** Removes empty buckets without a compensation. */
export function compactSummed(side: SummedSide): SummedSide {
  const indexes = bucketIndexes(side);
  const buckets: number[] = [];
  const lost: number[] = [];
  for (let position = 0; position < indexes.length; position += 1) {
    if (side.buckets[position] === 0 && side.lost[position] === 0) continue;
    indexes[buckets.length] = indexes[position] as number;
    buckets.push(side.buckets[position] as number);
    lost.push(side.lost[position] as number);
  }
  return { spans: spansOf(indexes, buckets.length), buckets, lost };
}
