/**
 * rate, increase and delta with `anchored` or `smoothed`: the change between the values at the
 * window's edges. Anchored, an edge has the last value up to it; smoothed, it is interpolated.
 */
import { stepAbsent, stepFloat } from "../model.ts";
import type { RateShape } from "./extrapolation.ts";
import type { FloatSamples } from "./split-samples.ts";
import type { MutableSteps } from "./types.ts";
import { firstAfter, type WindowBounds, type WindowEdges } from "./windows.ts";

/** Indexes of the samples used for a window's edges. */
export interface EdgeSamples {
  readonly first: number;
  readonly last: number;
}

/** `lo` to `hi` are the samples within and around the window. Undefined when it has no result. */
export function edgeSamples(
  ts: Float64Array,
  lo: number,
  hi: number,
  startMs: number,
  endMs: number,
  smoothed: boolean,
): EdgeSamples | undefined {
  if (hi <= lo) return undefined;
  let last = hi - 1;
  const first = Math.max(lo, Math.min(firstAfter(ts, hi, startMs), last) - 1);
  if (smoothed) {
    const after = firstAfter(ts, hi, endMs);
    const atEnd = after > 0 && ts[after - 1] === endMs ? after - 1 : after;
    last = Math.max(lo, Math.min(atEnd, last));
  }
  if ((ts[last] as number) <= startMs) return undefined;
  if (smoothed && (ts[first] as number) > endMs) return undefined;
  return { first, last };
}

/** `bounds` include samples around the windows; `edges` are those of the windows themselves. */
export function fillExtendedFloatRate(
  floats: FloatSamples,
  bounds: WindowBounds,
  edges: WindowEdges,
  smoothed: boolean,
  shape: RateShape,
  out: MutableSteps,
): void {
  const { steps, lo, hi } = bounds;
  const { ts } = floats;
  for (let step = 0; step < steps; step += 1) {
    const startMs = edges.startMs + step * edges.strideMs;
    const endMs = edges.endMs + step * edges.strideMs;
    const from = lo[step] as number;
    const found = edgeSamples(ts, from, hi[step] as number, startMs, endMs, smoothed);
    out.kinds[step] = found === undefined ? stepAbsent : stepFloat;
    if (found === undefined) continue;
    const { first, last } = found;
    const { values } = floats;
    const left =
      smoothed && (ts[first] as number) < startMs
        ? interpolate(floats, first, startMs, shape.isCounter)
        : (values[first] as number);
    const right =
      smoothed && last > from && (ts[last] as number) > endMs
        ? interpolate(floats, last - 1, endMs, shape.isCounter)
        : (values[last] as number);
    let change = right - left;
    if (shape.isCounter) {
      // Samples at the edges are in `left` and `right` already.
      const inner = (ts[first] as number) <= startMs ? first + 1 : first;
      const innerEnd = (ts[last] as number) >= endMs ? last : last + 1;
      change += resetCorrection(values, inner, innerEnd, left, right);
    }
    out.values[step] = shape.isRate ? change / shape.rangeSeconds : change;
  }
}

function resetCorrection(
  values: Float64Array,
  from: number,
  to: number,
  left: number,
  right: number,
): number {
  let correction = 0;
  let previous = left;
  for (let index = from; index < to; index += 1) {
    const value = values[index] as number;
    if (value < previous) correction += previous;
    previous = value;
  }
  return right < previous ? correction + previous : correction;
}

/** Interpolates between the sample at `index` and the next. A reset counter rises from zero. */
export function interpolate(
  { ts, values }: FloatSamples,
  index: number,
  atMs: number,
  isCounter: boolean,
): number {
  const fromMs = ts[index] as number;
  const to = values[index + 1] as number;
  const before = values[index] as number;
  const from = isCounter && to < before ? 0 : before;
  return from + ((to - from) * (atMs - fromMs)) / ((ts[index + 1] as number) - fromMs);
}
