/** Detects whether a counter was reset between two of its histograms. */
import { commonBounds, Rebucketing, sameBounds } from "./custom-buckets.ts";
import { customBucketsSchema, type FloatHistogram } from "./float-histogram.ts";
import { bucketIndexes, coarsenSide, countWithinZero, type Side, sameSpans } from "./layout.ts";
import { negativeSide, positiveSide, widenZeroBucket, zeroBucketOf } from "./zero-bucket.ts";

/**
 * The hint of the current one decides, unless it is unknown. Otherwise it is a reset if any count,
 * other than the sum, fell, or the buckets became finer, which those of a running counter never do.
 */
export function detectReset(current: FloatHistogram, previous: FloatHistogram): boolean {
  if (current.counterResetHint === "reset") return true;
  if (current.counterResetHint === "not_reset") return false;
  if (current.count < previous.count) return true;
  if (current.schema === customBucketsSchema) {
    if (previous.schema !== customBucketsSchema) return true;
    if (!sameBounds(current.customValues, previous.customValues)) {
      return rebucketedIsReset(current, previous);
    }
  }
  if (current.schema > previous.schema) return true;
  if (zeroBucketIsReset(current, previous)) return true;
  const { schema, zeroThreshold } = current;
  const shift = previous.schema - schema;
  return (
    sideIsReset(positiveSide(current), positiveSide(previous), shift, schema, zeroThreshold) ||
    sideIsReset(negativeSide(current), negativeSide(previous), shift, schema, zeroThreshold)
  );
}

function zeroBucketIsReset(current: FloatHistogram, previous: FloatHistogram): boolean {
  if (current.zeroThreshold === previous.zeroThreshold) {
    return current.zeroCount < previous.zeroCount;
  }
  if (current.zeroThreshold < previous.zeroThreshold) return true;
  const widened = widenZeroBucket(
    zeroBucketOf(previous),
    positiveSide(previous),
    negativeSide(previous),
    previous.schema,
    current.zeroThreshold,
  );
  // A growing threshold ends where a populated bucket does, unless the counter was reset.
  return widened.threshold !== current.zeroThreshold || current.zeroCount < widened.count;
}

/** `shift` says by how much the previous schema is finer. */
function sideIsReset(
  current: Side,
  previous: Side,
  shift: number,
  schema: number,
  zeroThreshold: number,
): boolean {
  if (previous.buckets.length === 0) return false;
  const before = shift > 0 ? coarsenSide(previous, shift) : previous;
  const skip = countWithinZero(before, schema, zeroThreshold);
  if (sameSpans(current.spans, before.spans)) {
    for (let index = skip; index < before.buckets.length; index += 1) {
      if ((current.buckets[index] as number) < (before.buckets[index] as number)) return true;
    }
    return false;
  }
  return someBucketFell(current, countWithinZero(current, schema, zeroThreshold), before, skip);
}

/** Whether a bucket fell or vanished. Like Prometheus, checks one beyond the last current one. */
function someBucketFell(
  current: Side,
  skipCurrent: number,
  before: Side,
  skipBefore: number,
): boolean {
  const indexes = bucketIndexes(current);
  const indexesBefore = bucketIndexes(before);
  let at = skipCurrent;
  for (let atBefore = skipBefore; atBefore < indexesBefore.length; atBefore += 1) {
    const index = indexesBefore[atBefore] as number;
    while (at < indexes.length && (indexes[at] as number) < index) at += 1;
    const countBefore = before.buckets[atBefore] as number;
    if (at === indexes.length) return countBefore !== 0;
    const fell =
      indexes[at] === index ? (current.buckets[at] as number) < countBefore : countBefore !== 0;
    if (fell) return true;
  }
  return false;
}

function rebucketedIsReset(current: FloatHistogram, previous: FloatHistogram): boolean {
  const bounds = commonBounds(current.customValues, previous.customValues);
  const after = rebucketed(current, bounds);
  const before = rebucketed(previous, bounds);
  return before.some((count, index) => (after[index] as number) < count);
}

function rebucketed(histogram: FloatHistogram, bounds: readonly number[]): readonly number[] {
  const rebucketing = new Rebucketing(bounds);
  rebucketing.add(positiveSide(histogram), histogram.customValues, 1);
  return rebucketing.sums;
}
