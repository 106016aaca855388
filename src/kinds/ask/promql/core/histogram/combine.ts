/** Sums and differences of histograms. */
import { commonBounds, Rebucketing, sameBounds } from "./custom-buckets.ts";
import {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
} from "./float-histogram.ts";
import {
  addSides,
  coarsenSide,
  compactSide,
  countWithinZero,
  emptySide,
  type Side,
} from "./layout.ts";
import {
  countBeginningWithin,
  negativeSide,
  positiveSide,
  widenZeroBucket,
  type ZeroBucket,
  zeroBucketOf,
} from "./zero-bucket.ts";

export interface Combined {
  /** May have empty buckets. */
  readonly result: FloatHistogram;
  /** One hint says that the counter was reset, the other that it was not. */
  readonly counterResetCollision: boolean;
  /** Whether the custom buckets differ; the result has the bounds that both have. */
  readonly boundsReconciled: boolean;
}

/** Exponential and custom buckets cannot be combined. */
export type CombineResult = Combined | "incompatible";

export function addHistograms(a: FloatHistogram, b: FloatHistogram): CombineResult {
  return combine(a, b, 1);
}

/** The result has the hint of a sum; the caller of `-` must make it a gauge. */
export function subHistograms(a: FloatHistogram, b: FloatHistogram): CombineResult {
  return combine(a, b, -1);
}

/** Equal hints stay, gauge wins, and other pairs are unknown. */
export function combinedHint(a: CounterResetHint, b: CounterResetHint): CounterResetHint {
  if (a === b) return a;
  return a === "gauge" || b === "gauge" ? "gauge" : "unknown";
}

export function hintsCollide(a: CounterResetHint, b: CounterResetHint): boolean {
  return (a === "reset" && b === "not_reset") || (a === "not_reset" && b === "reset");
}

function combine(a: FloatHistogram, b: FloatHistogram, sign: 1 | -1): CombineResult {
  const custom = a.schema === customBucketsSchema;
  if (custom !== (b.schema === customBucketsSchema)) return "incompatible";
  const boundsReconciled = custom && !sameBounds(a.customValues, b.customValues);
  return {
    result: custom ? combineCustom(a, b, sign, boundsReconciled) : combineExponential(a, b, sign),
    counterResetCollision: hintsCollide(a.counterResetHint, b.counterResetHint),
    boundsReconciled,
  };
}

function combineCustom(
  a: FloatHistogram,
  b: FloatHistogram,
  sign: 1 | -1,
  boundsDiffer: boolean,
): FloatHistogram {
  const { side, customValues } = boundsDiffer
    ? combineRebucketed(a, b, sign)
    : {
        side: addSides(positiveSide(a), positiveSide(b), sign, 0),
        customValues: a.customValues,
      };
  return {
    ...a,
    counterResetHint: combinedHint(a.counterResetHint, b.counterResetHint),
    count: a.count + sign * b.count,
    sum: a.sum + sign * b.sum,
    positiveSpans: side.spans,
    positiveBuckets: side.buckets,
    customValues,
  };
}

function combineRebucketed(
  a: FloatHistogram,
  b: FloatHistogram,
  sign: 1 | -1,
): { side: Side; customValues: readonly number[] } {
  const customValues = commonBounds(a.customValues, b.customValues);
  const rebucketing = new Rebucketing(customValues);
  rebucketing.add(positiveSide(a), a.customValues, 1);
  rebucketing.add(positiveSide(b), b.customValues, sign);
  return { side: rebucketing.finish(), customValues };
}

function combineExponential(a: FloatHistogram, b: FloatHistogram, sign: 1 | -1): FloatHistogram {
  const zeros = reconcileZeroBuckets(a, b);
  const zeroThreshold = zeros.a.threshold;
  const add = (left: Side, right: Side): Side =>
    addCoarsened(left, a.schema, right, b.schema, sign, zeroThreshold);
  const positive = add(zeros.positive, positiveSide(b));
  const negative = add(zeros.negative, negativeSide(b));
  return {
    counterResetHint: combinedHint(a.counterResetHint, b.counterResetHint),
    schema: Math.min(a.schema, b.schema),
    zeroThreshold,
    zeroCount: zeros.a.count + sign * zeros.b.count,
    count: a.count + sign * b.count,
    sum: a.sum + sign * b.sum,
    positiveSpans: positive.spans,
    positiveBuckets: positive.buckets,
    negativeSpans: negative.spans,
    negativeBuckets: negative.buckets,
    customValues: a.customValues,
  };
}

function addCoarsened(
  a: Side,
  schemaA: number,
  b: Side,
  schemaB: number,
  sign: 1 | -1,
  zeroThreshold: number,
): Side {
  const schema = Math.min(schemaA, schemaB);
  const left = schemaA > schema ? coarsenSide(a, schemaA - schema) : a;
  const right = schemaB > schema ? coarsenSide(b, schemaB - schema) : b;
  return addSides(left, right, sign, countWithinZero(right, schema, zeroThreshold));
}

/**
 * Widens both zero buckets until they are equally wide: a populated bucket at the edge moves it
 * further. Also returns the remaining sides of `a`.
 */
function reconcileZeroBuckets(
  a: FloatHistogram,
  b: FloatHistogram,
): { a: ZeroBucket; b: ZeroBucket; positive: Side; negative: Side } {
  let zeroA = zeroBucketOf(a);
  let zeroB = zeroBucketOf(b);
  let positive = positiveSide(a);
  let negative = negativeSide(a);
  // Not "until they are equal": a NaN threshold from outside never would be.
  while (zeroA.threshold > zeroB.threshold || zeroB.threshold > zeroA.threshold) {
    if (zeroA.threshold > zeroB.threshold) {
      zeroB = widenZeroBucket(
        zeroBucketOf(b),
        positiveSide(b),
        negativeSide(b),
        b.schema,
        zeroA.threshold,
      );
    }
    if (zeroB.threshold > zeroA.threshold) {
      zeroA = widenZeroBucket(zeroA, positive, negative, a.schema, zeroB.threshold);
      zeroA = { ...zeroA, lost: 0 };
      positive = trimWithinZero(positive, a.schema, zeroA.threshold);
      negative = trimWithinZero(negative, a.schema, zeroA.threshold);
    }
  }
  return { a: zeroA, b: zeroB, positive, negative };
}

/** Removes empty buckets, and those that the zero bucket contains. */
function trimWithinZero(side: Side, schema: number, zeroThreshold: number): Side {
  if (side.buckets.length === 0) return emptySide;
  const swallowed = countBeginningWithin(side, schema, zeroThreshold);
  if (swallowed === 0) return compactSide(side);
  const buckets = side.buckets.slice().fill(0, 0, swallowed);
  return compactSide({ spans: side.spans, buckets });
}
