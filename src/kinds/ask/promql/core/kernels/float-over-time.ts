/**
 * Sums, averages, variances and extremes of windows. Sums use Kahan-Neumaier compensation and are
 * computed anew for every window, because a sliding sum rounds differently than Prometheus. The
 * compensation is inlined: a function returning two numbers would allocate for each sample.
 */
import { stepAbsent, stepFloat } from "../model.ts";
import type { FloatBody } from "./float-kernel.ts";
import { FloatScratch, IndexScratch } from "./scratch.ts";
import type { FloatSamples } from "./split-samples.ts";
import type { MutableSteps } from "./types.ts";
import type { WindowBounds } from "./windows.ts";

/** Below this, adding integers is exact in any order. */
const exactSumMax = 2 ** 53;

const prefixScratch = new FloatScratch();

/**
 * Sums of the first samples, with one element more than samples; undefined unless all sums are
 * exact. Then a window's sum is exactly a difference of two.
 */
function exactPrefixSums({ count, values }: FloatSamples): Float64Array | undefined {
  const sums = prefixScratch.take(count + 1);
  let sum = 0;
  let magnitude = 0;
  sums[0] = 0;
  for (let index = 0; index < count; index += 1) {
    const value = values[index] as number;
    magnitude += Math.abs(value);
    // Also refuses NaN and infinities.
    if (!(magnitude < exactSumMax) || value !== Math.floor(value)) return undefined;
    sum += value;
    sums[index + 1] = sum;
  }
  return sums;
}

export const sumOverTime: FloatBody = (floats, bounds, out) => {
  const exact = exactPrefixSums(floats);
  if (exact === undefined) fillCompensated(floats, bounds, out, false);
  else fillDifferences(exact, bounds, out, false);
};

export const avgOverTime: FloatBody = (floats, bounds, out) => {
  const exact = exactPrefixSums(floats);
  if (exact === undefined) fillCompensated(floats, bounds, out, true);
  else fillDifferences(exact, bounds, out, true);
};

function fillDifferences(
  exact: Float64Array,
  { steps, lo, hi }: WindowBounds,
  out: MutableSteps,
  isMean: boolean,
): void {
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    out.kinds[step] = to > from ? stepFloat : stepAbsent;
    if (to <= from) continue;
    const sum = (exact[to] as number) - (exact[from] as number);
    out.values[step] = isMean ? sum / (to - from) : sum;
  }
}

/** Sums of four windows, then their compensations. */
const fourSums = new Float64Array(8);

function fillCompensated(
  { values }: FloatSamples,
  { steps, lo, hi }: WindowBounds,
  out: MutableSteps,
  isMean: boolean,
): void {
  for (let step = 0; step < steps; ) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    const count = to - from;
    if (count > 0 && isSameLength(lo, hi, step, steps, count)) {
      sumFour(values, lo, step, count);
      for (let lane = 0; lane < 4; lane += 1, step += 1) {
        const sum = fourSums[lane] as number;
        const lost = fourSums[lane + 4] as number;
        out.kinds[step] = stepFloat;
        if (sum - sum === 0) out.values[step] = isMean ? sum / count + lost / count : sum + lost;
        else out.values[step] = sumAlone(values, lo[step] as number, count, isMean);
      }
      continue;
    }
    out.kinds[step] = count > 0 ? stepFloat : stepAbsent;
    if (count > 0) out.values[step] = sumAlone(values, from, count, isMean);
    step += 1;
  }
}

function isSameLength(
  lo: Int32Array,
  hi: Int32Array,
  step: number,
  steps: number,
  count: number,
): boolean {
  return (
    step + 4 <= steps &&
    (hi[step + 1] as number) - (lo[step + 1] as number) === count &&
    (hi[step + 2] as number) - (lo[step + 2] as number) === count &&
    (hi[step + 3] as number) - (lo[step + 3] as number) === count
  );
}

/**
 * Sums four windows of one length side by side, because each addition waits for the one before and
 * a processor can do three others meanwhile. Compensates without a branch (Knuth's way), with the
 * same result. For a sum that is not finite the caller computes that window alone.
 */
function sumFour(values: Float64Array, lo: Int32Array, step: number, count: number): void {
  let a = lo[step] as number;
  let b = lo[step + 1] as number;
  let c = lo[step + 2] as number;
  let d = lo[step + 3] as number;
  const end = a + count;
  let sumA = values[a] as number;
  let sumB = values[b] as number;
  let sumC = values[c] as number;
  let sumD = values[d] as number;
  let lostA = 0;
  let lostB = 0;
  let lostC = 0;
  let lostD = 0;
  for (a += 1, b += 1, c += 1, d += 1; a < end; a += 1, b += 1, c += 1, d += 1) {
    const valueA = values[a] as number;
    const valueB = values[b] as number;
    const valueC = values[c] as number;
    const valueD = values[d] as number;
    const nextA = sumA + valueA;
    const nextB = sumB + valueB;
    const nextC = sumC + valueC;
    const nextD = sumD + valueD;
    const addedA = nextA - sumA;
    const addedB = nextB - sumB;
    const addedC = nextC - sumC;
    const addedD = nextD - sumD;
    lostA += sumA - (nextA - addedA) + (valueA - addedA);
    lostB += sumB - (nextB - addedB) + (valueB - addedB);
    lostC += sumC - (nextC - addedC) + (valueC - addedC);
    lostD += sumD - (nextD - addedD) + (valueD - addedD);
    sumA = nextA;
    sumB = nextB;
    sumC = nextC;
    sumD = nextD;
  }
  fourSums[0] = sumA;
  fourSums[1] = sumB;
  fourSums[2] = sumC;
  fourSums[3] = sumD;
  fourSums[4] = lostA;
  fourSums[5] = lostB;
  fourSums[6] = lostC;
  fourSums[7] = lostD;
}

function sumAlone(values: Float64Array, from: number, count: number, isMean: boolean): number {
  return isMean
    ? compensatedMean(values, from, from + count)
    : compensatedSum(values, from, from + count);
}

function compensatedSum(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  let lost = 0;
  for (let index = from; index < to; index += 1) {
    const value = values[index] as number;
    const next = sum + value;
    if (next - next !== 0) {
      // An infinite or NaN sum needs no compensation.
      lost = 0;
    } else if (Math.abs(sum) >= Math.abs(value)) {
      lost += sum - next + value;
    } else {
      lost += value - next + sum;
    }
    sum = next;
  }
  return sum + lost;
}

function compensatedMean(values: Float64Array, from: number, to: number): number {
  let sum = values[from] as number;
  let lost = 0;
  for (let index = from + 1; index < to; index += 1) {
    const value = values[index] as number;
    const next = sum + value;
    let nextLost = 0;
    if (Math.abs(next) === Infinity) return incrementalMean(values, from, index, to, sum, lost);
    if (Math.abs(sum) >= Math.abs(value)) nextLost = lost + (sum - next + value);
    else nextLost = lost + (value - next + sum);
    sum = next;
    lost = nextLost;
  }
  const count = to - from;
  return sum / count + lost / count;
}

/** Continues as a running mean when the sum overflows, after the samples before `at`. */
function incrementalMean(
  values: Float64Array,
  from: number,
  at: number,
  to: number,
  sum: number,
  lost: number,
): number {
  let mean = sum / (at - from);
  let meanLost = lost / (at - from);
  for (let index = at; index < to; index += 1) {
    const count = index - from + 1;
    const share = (count - 1) / count;
    const value = (values[index] as number) / count;
    const scaled = share * mean;
    meanLost *= share;
    mean = scaled + value;
    if (Math.abs(mean) === Infinity) meanLost = 0;
    else if (Math.abs(scaled) >= Math.abs(value)) meanLost += scaled - mean + value;
    else meanLost += value - mean + scaled;
  }
  return mean + meanLost;
}

export const stdvarOverTime: FloatBody = (floats, bounds, out) => {
  fillVariance(floats, bounds, out);
};

export const stddevOverTime: FloatBody = (floats, bounds, out) => {
  fillVariance(floats, bounds, out);
  for (let step = 0; step < bounds.steps; step += 1) {
    out.values[step] = Math.sqrt(out.values[step] as number);
  }
};

function fillVariance({ values }: FloatSamples, bounds: WindowBounds, out: MutableSteps): void {
  const { steps, lo, hi } = bounds;
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    out.kinds[step] = to > from ? stepFloat : stepAbsent;
    if (to > from) out.values[step] = variance(values, from, to);
  }
}

/** Welford's algorithm with both sums compensated. */
function variance(values: Float64Array, from: number, to: number): number {
  let mean = 0;
  let meanLost = 0;
  let squares = 0;
  let squaresLost = 0;
  for (let index = from; index < to; index += 1) {
    const value = values[index] as number;
    const delta = value - (mean + meanLost);
    const share = delta / (index - from + 1);
    const nextMean = mean + share;
    if (Math.abs(nextMean) === Infinity) meanLost = 0;
    else if (Math.abs(mean) >= Math.abs(share)) meanLost += mean - nextMean + share;
    else meanLost += share - nextMean + mean;
    mean = nextMean;
    const square = delta * (value - (mean + meanLost));
    const nextSquares = squares + square;
    if (Math.abs(nextSquares) === Infinity) squaresLost = 0;
    else if (Math.abs(squares) >= Math.abs(square)) squaresLost += squares - nextSquares + square;
    else squaresLost += square - nextSquares + squares;
    squares = nextSquares;
  }
  return (squares + squaresLost) / (to - from);
}

const queueScratch = new IndexScratch();

/**
 * The greatest value of each window, or the least with `sign` -1; NaN only if there is no other.
 * The queue holds indexes of falling values, so its head is the earliest of the greatest: what a
 * scan finds, including the sign of zero.
 */
function fillExtremes(
  { values }: FloatSamples,
  { steps, lo, hi }: WindowBounds,
  out: MutableSteps,
  sign: 1 | -1,
): void {
  const queue = queueScratch.take((hi[steps - 1] as number) + 1);
  let head = 0;
  let tail = 0;
  let next = lo[0] as number;
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    if (next < from) next = from;
    for (; next < to; next += 1) {
      const value = sign * (values[next] as number);
      if (Number.isNaN(value)) continue;
      while (tail > head && sign * (values[queue[tail - 1] as number] as number) < value) tail -= 1;
      queue[tail] = next;
      tail += 1;
    }
    while (head < tail && (queue[head] as number) < from) head += 1;
    if (to <= from) {
      out.kinds[step] = stepAbsent;
      continue;
    }
    out.kinds[step] = stepFloat;
    out.values[step] = head < tail ? (values[queue[head] as number] as number) : Number.NaN;
  }
}

export const maxOverTime: FloatBody = (floats, bounds, out) => fillExtremes(floats, bounds, out, 1);
export const minOverTime: FloatBody = (floats, bounds, out) =>
  fillExtremes(floats, bounds, out, -1);

/**
 * The latest time of the greatest (least) value, in seconds; the last NaN's if there are only NaNs.
 */
function fillExtremeTimes(
  { ts, values }: FloatSamples,
  { steps, lo, hi }: WindowBounds,
  out: MutableSteps,
  sign: 1 | -1,
): void {
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    out.kinds[step] = to > from ? stepFloat : stepAbsent;
    if (to <= from) continue;
    let at = from;
    for (let index = from + 1; index < to; index += 1) {
      const best = values[at] as number;
      if (sign * (values[index] as number) >= sign * best || Number.isNaN(best)) at = index;
    }
    out.values[step] = (ts[at] as number) / 1000;
  }
}

export const tsOfMaxOverTime: FloatBody = (floats, bounds, out) =>
  fillExtremeTimes(floats, bounds, out, 1);
export const tsOfMinOverTime: FloatBody = (floats, bounds, out) =>
  fillExtremeTimes(floats, bounds, out, -1);
