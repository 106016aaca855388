/** A set of characters: ascending, disjoint ranges of code points, each as first and last. */
export type CharRanges = readonly number[];

export const codePointMax = 0x10ffff;
export const anyCharacter: CharRanges = [0, codePointMax];

/** Sorts the ranges, and merges overlapping and adjacent ones. */
export function normalizeRanges(
  pairs: readonly (readonly [first: number, last: number])[],
): CharRanges {
  const sorted = [...pairs].sort(([a], [b]) => a - b);
  const ranges: number[] = [];
  for (const [first, last] of sorted) {
    const end = ranges.length - 1;
    const previous = ranges[end];
    if (previous !== undefined && first <= previous + 1) ranges[end] = Math.max(previous, last);
    else ranges.push(first, last);
  }
  return ranges;
}

export function uniteRanges(sets: readonly CharRanges[]): CharRanges {
  return normalizeRanges(sets.flatMap(rangePairs));
}

export function negateRanges(ranges: CharRanges): CharRanges {
  const negated: number[] = [];
  let next = 0;
  for (const [first, last] of rangePairs(ranges)) {
    if (first > next) negated.push(next, first - 1);
    next = last + 1;
  }
  if (next <= codePointMax) negated.push(next, codePointMax);
  return negated;
}

export function rangePairs(ranges: CharRanges): [first: number, last: number][] {
  const pairs: [number, number][] = [];
  for (let index = 0; index < ranges.length; index += 2) {
    pairs.push([ranges[index] as number, ranges[index + 1] as number]);
  }
  return pairs;
}

export function rangesContain(ranges: CharRanges, code: number): boolean {
  let low = 0;
  let high = ranges.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < (ranges[2 * middle] as number)) high = middle - 1;
    else if (code > (ranges[2 * middle + 1] as number)) low = middle + 1;
    else return true;
  }
  return false;
}
