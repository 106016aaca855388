/** Linear regression over windows, and double exponential smoothing. Both need two floats. */
import { PromqlError } from "../engine-types.ts";
import { formatFixed } from "../format-float.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { argAt, type FloatBody, type FloatCall, floatKernel } from "./float-kernel.ts";
import { type FloatSamples, withoutStale } from "./split-samples.ts";
import type { RangeKernel } from "./types.ts";
import { BoundsFinder, windowEdges } from "./windows.ts";

/** The line that the last call of `fitLine` found. */
const line = { slope: 0, intercept: 0 };

/**
 * Fits a line to the floats from `from` up to `to`; the intercept is the value at `zeroMs`. Its
 * four compensated sums are inlined in the loop.
 */
function fitLine(floats: FloatSamples, from: number, to: number, zeroMs: number): void {
  const { ts, values } = floats;
  const first = values[from] as number;
  let constant = true;
  let sumX = 0;
  let lostX = 0;
  let sumY = 0;
  let lostY = 0;
  let sumXY = 0;
  let lostXY = 0;
  let sumXX = 0;
  let lostXX = 0;
  for (let index = from; index < to; index += 1) {
    const x = ((ts[index] as number) - zeroMs) / 1e3;
    const y = values[index] as number;
    if (y !== first && index > from) constant = false;

    let next = sumX + x;
    if (Math.abs(next) === Infinity) lostX = 0;
    else if (Math.abs(sumX) >= Math.abs(x)) lostX += sumX - next + x;
    else lostX += x - next + sumX;
    sumX = next;

    next = sumY + y;
    if (Math.abs(next) === Infinity) lostY = 0;
    else if (Math.abs(sumY) >= Math.abs(y)) lostY += sumY - next + y;
    else lostY += y - next + sumY;
    sumY = next;

    const xy = x * y;
    next = sumXY + xy;
    if (Math.abs(next) === Infinity) lostXY = 0;
    else if (Math.abs(sumXY) >= Math.abs(xy)) lostXY += sumXY - next + xy;
    else lostXY += xy - next + sumXY;
    sumXY = next;

    const xx = x * x;
    next = sumXX + xx;
    if (Math.abs(next) === Infinity) lostXX = 0;
    else if (Math.abs(sumXX) >= Math.abs(xx)) lostXX += sumXX - next + xx;
    else lostXX += xx - next + sumXX;
    sumXX = next;
  }
  if (constant) {
    const finite = Math.abs(first) !== Infinity;
    line.slope = finite ? 0 : Number.NaN;
    line.intercept = finite ? first : Number.NaN;
    return;
  }
  const count = to - from;
  sumX += lostX;
  sumY += lostY;
  const covariance = sumXY + lostXY - (sumX * sumY) / count;
  const varianceX = sumXX + lostXX - (sumX * sumX) / count;
  line.slope = covariance / varianceX;
  line.intercept = sumY / count - (line.slope * sumX) / count;
}

/** Computes every window of two floats or more; others have no value. */
function ofTwoFloats(
  compute: (
    floats: FloatSamples,
    from: number,
    to: number,
    step: number,
    call: FloatCall,
  ) => number,
): FloatBody {
  return (floats, { steps, lo, hi }, out, call) => {
    for (let step = 0; step < steps; step += 1) {
      const from = lo[step] as number;
      const to = hi[step] as number;
      out.kinds[step] = to - from < 2 ? stepAbsent : stepFloat;
      if (to - from >= 2) out.values[step] = compute(floats, from, to, step, call);
    }
  };
}

export const deriv: FloatBody = ofTwoFloats((floats, from, to) => {
  // Times relative to the first sample are small, so that their squares are exact.
  fitLine(floats, from, to, floats.ts[from] as number);
  return line.slope;
});

export const predictLinear: FloatBody = ofTwoFloats((floats, from, to, step, { windows, args }) => {
  const { startMs, stepMs } = windows.grid;
  // Relative to the evaluation time, whatever the window's offset.
  fitLine(floats, from, to, startMs + step * stepMs);
  return line.slope * argAt(args[0], step) + line.intercept;
});

const smoothed: FloatBody = ofTwoFloats(({ values }, from, to, step, { args }) =>
  smooth(values, from, to, argAt(args[0], step), argAt(args[1], step)),
);

const smoothedKernel = floatKernel(smoothed);
const finder = new BoundsFinder();

export const doubleExponentialSmoothing: RangeKernel = (samples, windows, args, ...rest) => {
  // Factors are checked even if all samples are histograms, which are then ignored.
  const live = withoutStale(samples);
  const { steps, lo, hi } = finder.find(live.ts, live.count, windowEdges(windows));
  for (let step = 0; step < steps; step += 1) {
    if ((hi[step] as number) <= (lo[step] as number)) continue;
    checkFactor("smoothing", "sf", argAt(args[0], step));
    checkFactor("trend", "tf", argAt(args[1], step));
  }
  smoothedKernel(samples, windows, args, ...rest);
};

function smooth(values: Float64Array, from: number, to: number, sf: number, tf: number): number {
  let before = 0;
  let level = values[from] as number;
  let slope = (values[from + 1] as number) - level;
  for (let index = from + 1; index < to; index += 1) {
    const raw = sf * (values[index] as number);
    if (index > from + 1) slope = tf * (level - before) + (1 - tf) * slope;
    const carried = (1 - sf) * (level + slope);
    before = level;
    level = raw + carried;
  }
  return level;
}

/** NaN is accepted, like in Prometheus. */
function checkFactor(name: string, symbol: string, factor: number): void {
  if (factor <= 0 || factor >= 1) {
    throw new PromqlError(
      "execution",
      `invalid ${name} factor. Expected: 0 < ${symbol} < 1, got: ${formatFixed(factor, 6)}`,
    );
  }
}
