/** rate, increase and delta of native histograms with `anchored` or `smoothed`. */
import { detectReset } from "../histogram/detect-reset.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { compactHistogram, divideHistogram } from "../histogram/scale.ts";
import { edgeSamples } from "./extended-float-rate.ts";
import { HistogramNotes, noted, usesCustomBuckets } from "./histogram-notes.ts";
import type { HistogramRateContext } from "./histogram-rate.ts";
import { interpolateHistograms } from "./interpolate-histograms.ts";
import type { HistogramSamples } from "./split-samples.ts";
import { type MutableSteps, putHistogram } from "./types.ts";
import type { WindowBounds } from "./windows.ts";

/** A window and the samples used for its edges. */
interface ExtendedWindow {
  readonly from: number;
  readonly first: number;
  readonly last: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly smoothed: boolean;
}

/** Writes only steps with a result. `bounds` include samples around the windows. */
export function fillExtendedHistogramRate(
  samples: HistogramSamples,
  { steps, lo, hi }: WindowBounds,
  smoothed: boolean,
  context: HistogramRateContext,
  out: MutableSteps,
): void {
  const { edges } = context;
  const notes = new HistogramNotes();
  for (let step = 0; step < steps; step += 1) {
    const startMs = edges.startMs + step * edges.strideMs;
    const endMs = edges.endMs + step * edges.strideMs;
    const from = lo[step] as number;
    const found = edgeSamples(samples.ts, from, hi[step] as number, startMs, endMs, smoothed);
    if (found === undefined) continue;
    const result = windowRate(
      samples,
      { from, ...found, startMs, endMs, smoothed },
      context,
      notes,
    );
    notes.keepWindow();
    if (result !== undefined) putHistogram(out, step, result);
  }
  notes.report(context.metricName, context.annotations);
}

function windowRate(
  samples: HistogramSamples,
  window: ExtendedWindow,
  context: HistogramRateContext,
  notes: HistogramNotes,
): FloatHistogram | undefined {
  const { isCounter, isRate, rangeSeconds } = context.shape;
  if (!fitTogether(samples, window, isCounter, notes)) return undefined;
  const left = leftOf(samples, window, context);
  const right = rightOf(samples, window, context);
  if (left === undefined || right === undefined) {
    notes.window |= noted.mixedSchemas;
    return undefined;
  }
  if (!isCounter && (left.counterResetHint !== "gauge" || right.counterResetHint !== "gauge")) {
    notes.window |= noted.notGauge;
  }
  let change = notes.sub(right, left);
  if (change !== undefined && isCounter) {
    const correction = resetCorrection(samples, window, left, right, notes);
    if (correction === "incompatible") return undefined;
    if (correction !== undefined) change = notes.add(change, correction);
  }
  if (change === undefined) return undefined;
  if (isRate) change = divideHistogram(change, rangeSeconds);
  return compactHistogram({ ...change, counterResetHint: "gauge" });
}

function fitTogether(
  { histograms }: HistogramSamples,
  { first, last }: ExtendedWindow,
  isCounter: boolean,
  notes: HistogramNotes,
): boolean {
  const custom = usesCustomBuckets(histograms[first] as FloatHistogram);
  for (let index = first; index <= last; index += 1) {
    const histogram = histograms[index] as FloatHistogram;
    if (usesCustomBuckets(histogram) !== custom) {
      notes.window |= noted.mixedSchemas;
      return false;
    }
    if (isCounter && histogram.counterResetHint === "gauge") notes.window |= noted.notCounter;
  }
  return true;
}

function leftOf(
  samples: HistogramSamples,
  { first, startMs, smoothed }: ExtendedWindow,
  context: HistogramRateContext,
): FloatHistogram | undefined {
  if (!smoothed || (samples.ts[first] as number) >= startMs) return samples.histograms[first];
  return between(samples, first, startMs, context);
}

function rightOf(
  samples: HistogramSamples,
  { from, last, endMs, smoothed }: ExtendedWindow,
  context: HistogramRateContext,
): FloatHistogram | undefined {
  if (!smoothed || last === from || (samples.ts[last] as number) <= endMs) {
    return samples.histograms[last];
  }
  return between(samples, last - 1, endMs, context);
}

function between(
  { ts, histograms }: HistogramSamples,
  index: number,
  atMs: number,
  { shape, annotations }: HistogramRateContext,
): FloatHistogram | undefined {
  return interpolateHistograms(
    histograms[index] as FloatHistogram,
    ts[index] as number,
    histograms[index + 1] as FloatHistogram,
    ts[index + 1] as number,
    atMs,
    { isCounter: shape.isCounter, place: 0, annotations },
  );
}

/** The sum of the histograms before each reset; undefined without one. */
function resetCorrection(
  { ts, histograms }: HistogramSamples,
  { first, last, startMs, smoothed }: ExtendedWindow,
  left: FloatHistogram,
  right: FloatHistogram,
  notes: HistogramNotes,
): FloatHistogram | undefined | "incompatible" {
  let next = first + 1;
  let previous = left;
  const second = histograms[first + 1];
  if (
    smoothed &&
    (ts[first] as number) < startMs &&
    second !== undefined &&
    detectReset(second, histograms[first] as FloatHistogram)
  ) {
    // `left` was interpolated across this reset, so it is accounted for.
    previous = second;
    next += 1;
  }
  // Both edges are in the same gap, or are the same sample.
  if (next > last) return undefined;
  let correction: FloatHistogram | undefined;
  // `right` is the last sample or has its hint: comparing both would find the reset twice.
  for (let index = next; index <= last; index += 1) {
    const current = index === last ? right : (histograms[index] as FloatHistogram);
    if (detectReset(current, previous)) {
      correction = correction === undefined ? previous : notes.add(correction, previous);
      if (correction === undefined) return "incompatible";
    }
    previous = current;
  }
  return correction;
}
