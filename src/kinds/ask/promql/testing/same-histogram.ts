/**
 * Compares two native histograms: equal layout, almost equal counts. Empty buckets are ignored,
 * however they are stored. The hint is compared if the expectation names one.
 */
import { customBucketsSchema, type FloatHistogram, type Span } from "../core/index.ts";
import { almostEqual } from "./almost-equal.ts";

export function sameHistogram(
  expected: FloatHistogram,
  actual: FloatHistogram,
  compareHint: boolean,
): boolean {
  return (
    expected.schema === actual.schema &&
    almostEqual(expected.count, actual.count) &&
    almostEqual(expected.sum, actual.sum) &&
    (expected.schema !== customBucketsSchema ||
      sameBounds(expected.customValues, actual.customValues)) &&
    expected.zeroThreshold === actual.zeroThreshold &&
    almostEqual(expected.zeroCount, actual.zeroCount) &&
    sameBuckets(
      filledBuckets(expected.positiveSpans, expected.positiveBuckets),
      filledBuckets(actual.positiveSpans, actual.positiveBuckets),
    ) &&
    sameBuckets(
      filledBuckets(expected.negativeSpans, expected.negativeBuckets),
      filledBuckets(actual.negativeSpans, actual.negativeBuckets),
    ) &&
    (!compareHint || expected.counterResetHint === actual.counterResetHint)
  );
}

/** Index and count of the buckets that are not empty, by index. */
export function filledBuckets(
  spans: readonly Span[],
  buckets: readonly number[],
): (readonly [index: number, count: number])[] {
  const filled: [number, number][] = [];
  let index = 0;
  let next = 0;
  for (const { offset, length } of spans) {
    index += offset;
    for (let left = length; left > 0; left -= 1) {
      const count = buckets[next] as number;
      if (count !== 0) filled.push([index, count]);
      index += 1;
      next += 1;
    }
  }
  return filled;
}

function sameBounds(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((bound, index) => bound === b[index]);
}

function sameBuckets(
  a: readonly (readonly [number, number])[],
  b: readonly (readonly [number, number])[],
): boolean {
  return (
    a.length === b.length &&
    a.every(([index, count], at) => {
      const other = b[at] as readonly [number, number];
      return index === other[0] && almostEqual(count, other[1]);
    })
  );
}
