/** Compares histograms exactly or nearly. Counter reset hints are ignored. */
import { sameBounds } from "./custom-buckets.ts";
import { customBucketsSchema, type FloatHistogram, type Span } from "./float-histogram.ts";
import { sameSpans } from "./layout.ts";

/** Same buckets, including empty ones, and same numbers: NaN equals NaN, and 0 is not -0. */
export function equalsHistogram(a: FloatHistogram, b: FloatHistogram): boolean {
  return sameBy(a, b, Object.is);
}

/** Like `equalsHistogram`, but numbers may differ by `epsilon` of their sum. */
export function nearlyEqualsHistogram(
  a: FloatHistogram,
  b: FloatHistogram,
  epsilon: number,
): boolean {
  return sameBy(a, b, (left, right) => nearlyEqual(left, right, epsilon));
}

const normalMin = 2 ** -1_022;

export function nearlyEqual(a: number, b: number, epsilon: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const total = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || total < normalMin) return difference < epsilon * normalMin;
  return difference / Math.min(total, Number.MAX_VALUE) < epsilon;
}

function sameBy(
  a: FloatHistogram,
  b: FloatHistogram,
  same: (left: number, right: number) => boolean,
): boolean {
  return (
    a.schema === b.schema &&
    same(a.count, b.count) &&
    same(a.sum, b.sum) &&
    (a.schema !== customBucketsSchema || sameBounds(a.customValues, b.customValues)) &&
    a.zeroThreshold === b.zeroThreshold &&
    same(a.zeroCount, b.zeroCount) &&
    sameLayout(a.negativeSpans, b.negativeSpans) &&
    sameNumbers(a.negativeBuckets, b.negativeBuckets, same) &&
    sameLayout(a.positiveSpans, b.positiveSpans) &&
    sameNumbers(a.positiveBuckets, b.positiveBuckets, same)
  );
}

function sameNumbers(
  a: readonly number[],
  b: readonly number[],
  same: (left: number, right: number) => boolean,
): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (!same(a[index] as number, b[index] as number)) return false;
  }
  return true;
}

function sameLayout(a: readonly Span[], b: readonly Span[]): boolean {
  return sameSpans(a, b) || sameSpans(withoutEmpty(a), withoutEmpty(b));
}

/** Removes spans of length 0, which are part of the gap. */
function withoutEmpty(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  let gap = 0;
  for (const { offset, length } of spans) {
    gap += offset;
    if (length === 0) continue;
    kept.push({ offset: gap, length });
    gap = 0;
  }
  return kept;
}
