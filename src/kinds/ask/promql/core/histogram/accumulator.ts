/**
 * The compensated sum or mean of many histograms. Aggregations over series and over time both use
 * it, so that they agree to the last bit.
 *
 * The given histograms are never written to. The mean is the sum divided at the end, unless the sum
 * would overflow: then it continues as a running mean. The result is not compacted.
 */
import { combinedHint } from "./combine.ts";
import { commonBounds, Rebucketing, sameBounds } from "./custom-buckets.ts";
import {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
} from "./float-histogram.ts";
import { lostAfter } from "./kahan.ts";
import {
  accumulateSide,
  addSides,
  coarsenSummed,
  compactSummed,
  countWithinZero,
  type Side,
  type SummedSide,
  summedSide,
} from "./layout.ts";
import { divideHistogram } from "./scale.ts";
import {
  countBeginningWithin,
  negativeSide,
  positiveSide,
  widenZeroBucket,
  type ZeroBucket,
  zeroBucketOf,
} from "./zero-bucket.ts";

interface State {
  hint: CounterResetHint;
  schema: number;
  zeroThreshold: number;
  zeroCount: number;
  zeroLost: number;
  count: number;
  countLost: number;
  sum: number;
  sumLost: number;
  positive: SummedSide;
  negative: SummedSide;
  customValues: readonly number[];
}

/** Below this no sum can overflow, since no part of a histogram exceeds the sum of all. */
const magnitudeSafeMax = 1e307;

export class HistogramAccumulator {
  readonly #kind: "sum" | "mean";
  #state: State | undefined;
  #added = 0;
  /** Whether the state is a running mean. */
  #running = false;
  #magnitude = 0;
  #resetSeen = false;
  #notResetSeen = false;
  #boundsReconciled = false;

  constructor(kind: "sum" | "mean") {
    this.#kind = kind;
  }

  get added(): number {
    return this.#added;
  }

  /** Whether some hints say that the counter was reset and others that it was not. */
  get counterResetCollision(): boolean {
    return this.#resetSeen && this.#notResetSeen;
  }

  get boundsReconciled(): boolean {
    return this.#boundsReconciled;
  }

  /** Returns false when exponential and custom buckets are mixed; then there is no result. */
  add(histogram: FloatHistogram): boolean {
    this.#added += 1;
    this.#resetSeen ||= histogram.counterResetHint === "reset";
    this.#notResetSeen ||= histogram.counterResetHint === "not_reset";
    if (this.#kind === "mean") this.#magnitude += magnitudeOf(histogram);
    if (this.#state === undefined) {
      this.#state = stateOf(histogram);
      return true;
    }
    const state = this.#state;
    const custom = histogram.schema === customBucketsSchema;
    if (custom !== (state.schema === customBucketsSchema)) return false;
    if (custom && !sameBounds(state.customValues, histogram.customValues)) {
      this.#boundsReconciled = true;
    }
    if (this.#kind === "sum") accumulate(state, histogram);
    else this.#addToMean(state, histogram);
    return true;
  }

  /** Undefined when nothing was added. Consumes the state: nothing may be added afterwards. */
  finish(): FloatHistogram | undefined {
    const state = this.#state;
    if (state === undefined) return undefined;
    if (this.#kind === "mean" && !this.#running) scaleState(state, this.#added, divide);
    return settle(state);
  }

  #addToMean(state: State, histogram: FloatHistogram): void {
    if (!this.#running) {
      // NaN counts as unsafe, too.
      const safe = this.#magnitude < magnitudeSafeMax;
      const before = safe ? undefined : copyState(state);
      accumulate(state, histogram);
      if (before === undefined || !overflows(state)) return;
      this.#running = true;
      scaleState(before, this.#added - 1, divide);
      this.#state = before;
      this.#addToRunningMean(before, histogram);
      return;
    }
    this.#addToRunningMean(state, histogram);
  }

  #addToRunningMean(state: State, histogram: FloatHistogram): void {
    scaleState(state, (this.#added - 1) / this.#added, multiply);
    accumulate(state, divideHistogram(histogram, this.#added));
  }
}

const divide = (value: number, by: number): number => value / by;
const multiply = (value: number, by: number): number => value * by;

function magnitudeOf(histogram: FloatHistogram): number {
  let magnitude =
    Math.abs(histogram.count) + Math.abs(histogram.sum) + Math.abs(histogram.zeroCount);
  for (const bucket of histogram.positiveBuckets) magnitude += Math.abs(bucket);
  for (const bucket of histogram.negativeBuckets) magnitude += Math.abs(bucket);
  return magnitude;
}

function stateOf(histogram: FloatHistogram): State {
  return {
    hint: histogram.counterResetHint,
    schema: histogram.schema,
    zeroThreshold: histogram.zeroThreshold,
    zeroCount: histogram.zeroCount,
    zeroLost: 0,
    count: histogram.count,
    countLost: 0,
    sum: histogram.sum,
    sumLost: 0,
    positive: summedSide(positiveSide(histogram)),
    negative: summedSide(negativeSide(histogram)),
    customValues: histogram.customValues,
  };
}

function copyState(state: State): State {
  const copy = ({ spans, buckets, lost }: SummedSide): SummedSide => ({
    spans,
    buckets: buckets.slice(),
    lost: lost.slice(),
  });
  return { ...state, positive: copy(state.positive), negative: copy(state.negative) };
}

function scaleState(state: State, by: number, scale: (value: number, by: number) => number): void {
  state.zeroCount = scale(state.zeroCount, by);
  state.zeroLost = scale(state.zeroLost, by);
  state.count = scale(state.count, by);
  state.countLost = scale(state.countLost, by);
  state.sum = scale(state.sum, by);
  state.sumLost = scale(state.sumLost, by);
  for (const { buckets, lost } of [state.positive, state.negative]) {
    for (let index = 0; index < buckets.length; index += 1) {
      buckets[index] = scale(buckets[index] as number, by);
      lost[index] = scale(lost[index] as number, by);
    }
  }
}

function overflows(state: State): boolean {
  return (
    isInfinite(state.zeroCount) ||
    isInfinite(state.count) ||
    isInfinite(state.sum) ||
    state.positive.buckets.some(isInfinite) ||
    state.negative.buckets.some(isInfinite)
  );
}

function isInfinite(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

function accumulate(state: State, histogram: FloatHistogram): void {
  state.hint = combinedHint(state.hint, histogram.counterResetHint);
  if (state.schema !== customBucketsSchema) {
    const zero = reconcileZeroBucket(state, histogram);
    addZero(state, zero.count);
    addZero(state, zero.lost);
  }
  const count = state.count + histogram.count;
  state.countLost = lostAfter(histogram.count, state.count, count, state.countLost);
  state.count = count;
  const sum = state.sum + histogram.sum;
  state.sumLost = lostAfter(histogram.sum, state.sum, sum, state.sumLost);
  state.sum = sum;
  if (state.schema === customBucketsSchema) accumulateCustom(state, histogram);
  else accumulateExponential(state, histogram);
}

function addZero(state: State, increment: number): void {
  const total = state.zeroCount + increment;
  state.zeroLost = lostAfter(increment, state.zeroCount, total, state.zeroLost);
  state.zeroCount = total;
}

function accumulateCustom(state: State, histogram: FloatHistogram): void {
  const side = positiveSide(histogram);
  if (sameBounds(state.customValues, histogram.customValues)) {
    accumulateSide(state.positive, side, undefined, 0);
    return;
  }
  const bounds = commonBounds(state.customValues, histogram.customValues);
  const rebucketing = new Rebucketing(bounds);
  rebucketing.add(state.positive, state.customValues, 1, state.positive.lost);
  rebucketing.add(side, histogram.customValues, 1);
  state.positive = rebucketing.finish();
  state.customValues = bounds;
}

function accumulateExponential(state: State, histogram: FloatHistogram): void {
  const shift = state.schema - histogram.schema;
  if (shift > 0) {
    state.positive = coarsenSummed(state.positive, shift);
    state.negative = coarsenSummed(state.negative, shift);
    state.schema = histogram.schema;
  }
  addSide(state, state.positive, positiveSide(histogram), -shift);
  addSide(state, state.negative, negativeSide(histogram), -shift);
}

/** `shift` says by how much the side's schema is finer than the state's. */
function addSide(state: State, target: SummedSide, side: Side, shift: number): void {
  if (side.buckets.length === 0) return;
  if (shift > 0) {
    const coarse = coarsenSummed(summedSide(side), shift);
    const skip = countWithinZero(coarse, state.schema, state.zeroThreshold);
    accumulateSide(target, coarse, coarse.lost, skip);
    return;
  }
  const skip = countWithinZero(side, state.schema, state.zeroThreshold);
  accumulateSide(target, side, undefined, skip);
}

/** Widens the state's zero bucket as needed; returns the histogram's with the same width. */
function reconcileZeroBucket(state: State, histogram: FloatHistogram): ZeroBucket {
  let zero = zeroBucketOf(histogram);
  // This condition ends the loop even if a threshold is NaN.
  while (zero.threshold > state.zeroThreshold || state.zeroThreshold > zero.threshold) {
    if (state.zeroThreshold > zero.threshold) {
      zero = widenZeroBucket(
        zeroBucketOf(histogram),
        positiveSide(histogram),
        negativeSide(histogram),
        histogram.schema,
        state.zeroThreshold,
      );
    }
    if (zero.threshold > state.zeroThreshold) widenState(state, zero.threshold);
  }
  return zero;
}

function widenState(state: State, threshold: number): void {
  const { positive, negative, schema } = state;
  const wide = widenZeroBucket(
    { threshold: state.zeroThreshold, count: state.zeroCount, lost: state.zeroLost },
    positive,
    negative,
    schema,
    threshold,
  );
  state.zeroThreshold = wide.threshold;
  state.zeroCount = wide.count;
  state.zeroLost = wide.lost;
  for (const side of [positive, negative]) {
    const swallowed = countBeginningWithin(side, schema, wide.threshold);
    side.buckets.fill(0, 0, swallowed);
    side.lost.fill(0, 0, swallowed);
  }
  state.positive = compactSummed(positive);
  state.negative = compactSummed(negative);
}

/** Adds the compensations. */
function settle(state: State): FloatHistogram {
  const positive = settleSide(state, state.positive);
  const negative = settleSide(state, state.negative);
  return {
    counterResetHint: state.hint,
    schema: state.schema,
    zeroThreshold: state.zeroThreshold,
    zeroCount: state.zeroCount + state.zeroLost,
    count: state.count + state.countLost,
    sum: state.sum + state.sumLost,
    positiveSpans: positive.spans,
    positiveBuckets: positive.buckets,
    negativeSpans: negative.spans,
    negativeBuckets: negative.buckets,
    customValues: state.customValues,
  };
}

function settleSide(state: State, side: SummedSide): Side {
  const skip = countWithinZero(side, state.schema, state.zeroThreshold);
  return addSides(side, { spans: side.spans, buckets: side.lost }, 1, skip);
}
