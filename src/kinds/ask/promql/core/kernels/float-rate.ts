/**
 * rate, increase and delta of floats. One pass finds the counter resets; then a window costs as
 * much as it has resets, and adds in the same order as a scan.
 */
import { stepAbsent, stepFloat } from "../model.ts";
import { extrapolationFactor, type RateShape } from "./extrapolation.ts";
import { IndexScratch } from "./scratch.ts";
import type { FloatSamples } from "./split-samples.ts";
import { isStartReset, startsOverlap } from "./start-timestamps.ts";
import type { MutableSteps } from "./types.ts";
import type { WindowBounds, WindowEdges } from "./windows.ts";

const resetScratch = new IndexScratch();

/** Indexes of samples less than the one before, followed by one beyond every sample. */
function findResets({ count, values }: FloatSamples): Int32Array {
  const resets = resetScratch.take(count + 1);
  let found = 0;
  let previous = values[0] as number;
  for (let index = 1; index < count; index += 1) {
    const value = values[index] as number;
    if (value < previous) {
      resets[found] = index;
      found += 1;
    }
    previous = value;
  }
  resets[found] = 0x7fffffff;
  return resets;
}

/**
 * For series without start timestamps. With evenly spaced samples the extrapolation factor is the
 * same for the next window; it is computed again only when the samples lie differently, or when the
 * counter may have been zero within reach.
 */
export function fillFloatRate(
  floats: FloatSamples,
  bounds: WindowBounds,
  edges: WindowEdges,
  shape: RateShape,
  out: MutableSteps,
): void {
  const { steps, lo, hi } = bounds;
  const { ts, values } = floats;
  const { kinds, values: results } = out;
  const { isCounter } = shape;
  const resets = isCounter ? findResets(floats) : noResets;
  let nextReset = 0;
  let windowStartMs = edges.startMs - edges.strideMs;
  let windowEndMs = edges.endMs - edges.strideMs;
  let knownLeadMs = Number.NaN;
  let knownTailMs = Number.NaN;
  let knownGaps = 0;
  let knownFactor = 0;
  for (let step = 0; step < steps; step += 1) {
    windowStartMs += edges.strideMs;
    windowEndMs += edges.strideMs;
    const first = lo[step] as number;
    const last = (hi[step] as number) - 1;
    if (last <= first) {
      kinds[step] = stepAbsent;
      continue;
    }
    const firstValue = values[first] as number;
    let increase = (values[last] as number) - firstValue;
    while ((resets[nextReset] as number) <= first) nextReset += 1;
    for (let reset = nextReset; (resets[reset] as number) <= last; reset += 1) {
      increase += values[(resets[reset] as number) - 1] as number;
    }
    const firstMs = ts[first] as number;
    const lastMs = ts[last] as number;
    const gaps = last - first;
    kinds[step] = stepFloat;
    // A value not below the increase was zero at least as long before the first sample as the last
    // one is after it: with two gaps or more, that is beyond the extrapolation.
    if (isCounter && increase > 0 && firstValue >= 0 && (gaps < 2 || firstValue < increase)) {
      results[step] =
        increase *
        extrapolationFactor(
          shape,
          firstMs,
          lastMs,
          gaps,
          windowStartMs,
          windowEndMs,
          firstValue,
          increase,
          Number.NaN,
        );
      continue;
    }
    const leadMs = firstMs - windowStartMs;
    const tailMs = windowEndMs - lastMs;
    if (leadMs !== knownLeadMs || tailMs !== knownTailMs || gaps !== knownGaps) {
      knownLeadMs = leadMs;
      knownTailMs = tailMs;
      knownGaps = gaps;
      knownFactor = extrapolationFactor(
        shape,
        firstMs,
        lastMs,
        gaps,
        windowStartMs,
        windowEndMs,
        0,
        0,
        Number.NaN,
      );
    }
    results[step] = increase * knownFactor;
  }
}

const noResets = Int32Array.of(0x7fffffff);

const overlapScratch = new IndexScratch();

/** Like `findResets`, with resets by start timestamps, and the indexes of overlapping starts. */
function findStarts(
  { count, ts, values }: FloatSamples,
  startTs: Float64Array,
): { resets: Int32Array; overlaps: Int32Array } {
  const resets = resetScratch.take(count + 1);
  const overlaps = overlapScratch.take(count + 1);
  let resetCount = 0;
  let overlapCount = 0;
  for (let index = 1; index < count; index += 1) {
    if (startsOverlap(ts, startTs, index)) {
      overlaps[overlapCount] = index;
      overlapCount += 1;
    }
    if (
      (values[index] as number) < (values[index - 1] as number) ||
      isStartReset(ts, startTs, index)
    ) {
      resets[resetCount] = index;
      resetCount += 1;
    }
  }
  resets[resetCount] = 0x7fffffff;
  overlaps[overlapCount] = 0x7fffffff;
  return { resets, overlaps };
}

/** For a counter with start timestamps. Returns in how many windows starts overlap samples. */
export function fillFloatRateWithStarts(
  floats: FloatSamples,
  startTs: Float64Array,
  bounds: WindowBounds,
  edges: WindowEdges,
  shape: RateShape,
  out: MutableSteps,
): number {
  const { steps, lo, hi } = bounds;
  const { ts, values } = floats;
  const { resets, overlaps } = findStarts(floats, startTs);
  let nextReset = 0;
  let nextOverlap = 0;
  let overlapping = 0;
  for (let step = 0; step < steps; step += 1) {
    const first = lo[step] as number;
    const last = (hi[step] as number) - 1;
    out.kinds[step] = stepAbsent;
    if (last < first) continue;
    const firstValue = values[first] as number;
    let increase = (values[last] as number) - firstValue;
    while ((resets[nextReset] as number) <= first) nextReset += 1;
    for (let reset = nextReset; (resets[reset] as number) <= last; reset += 1) {
      increase += values[(resets[reset] as number) - 1] as number;
    }
    while ((overlaps[nextOverlap] as number) <= first) nextOverlap += 1;
    if ((overlaps[nextOverlap] as number) <= last) overlapping += 1;
    const shiftMs = step * edges.strideMs;
    const firstMs = ts[first] as number;
    const startMs = startWithin(startTs[first] as number, edges.startMs + shiftMs, firstMs);
    const fromStart = !Number.isNaN(startMs);
    if (last === first && !fromStart) continue;
    // A known start is a sample of zero.
    if (fromStart) increase += firstValue;
    out.kinds[step] = stepFloat;
    out.values[step] =
      increase *
      extrapolationFactor(
        shape,
        firstMs,
        ts[last] as number,
        last - first,
        edges.startMs + shiftMs,
        edges.endMs + shiftMs,
        firstValue,
        increase,
        startMs,
      );
  }
  return overlapping;
}

/** The start if it is within the window and before the first sample, else NaN. */
export function startWithin(startMs: number, windowStartMs: number, firstMs: number): number {
  return startMs !== 0 && startMs > windowStartMs && startMs < firstMs ? startMs : Number.NaN;
}
