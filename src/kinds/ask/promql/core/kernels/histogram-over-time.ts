/** sum_over_time and avg_over_time, of floats or of histograms, but not of both. */
import { annotate, mixedFloatsHistograms } from "../annotations.ts";
import { HistogramAccumulator } from "../histogram/accumulator.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { FloatBody } from "./float-kernel.ts";
import { HistogramNotes, noted } from "./histogram-notes.ts";
import type { HistogramSamples } from "./split-samples.ts";
import { splitWindows } from "./split-windows.ts";
import { type MutableSteps, putHistogram, type RangeKernel } from "./types.ts";
import { type WindowBounds, windowEdges } from "./windows.ts";

export function summingKernel(kind: "sum" | "mean", ofFloats: FloatBody): RangeKernel {
  return (samples, windows, args, metricName, out, annotations) => {
    const split = splitWindows(samples, windowEdges(windows));
    ofFloats(split.floats, split.floatBounds, out, { windows, args, annotations });
    if (split.mixed) annotate(annotations, mixedFloatsHistograms(metricName), 0);
    if (split.histograms === undefined || split.histogramBounds === undefined) return;
    const notes = new HistogramNotes();
    fillSums(kind, split.histograms, split.histogramBounds, notes, out);
    notes.report(metricName, annotations);
  };
}

/** Writes only the steps whose window has a result. */
function fillSums(
  kind: "sum" | "mean",
  { histograms }: HistogramSamples,
  { steps, lo, hi }: WindowBounds,
  notes: HistogramNotes,
  out: MutableSteps,
): void {
  for (let step = 0; step < steps; step += 1) {
    const from = lo[step] as number;
    const to = hi[step] as number;
    if (to <= from) continue;
    const result = sumOf(kind, histograms, from, to, notes);
    notes.keepWindow();
    if (result !== undefined) putHistogram(out, step, result);
  }
}

function sumOf(
  kind: "sum" | "mean",
  histograms: readonly FloatHistogram[],
  from: number,
  to: number,
  notes: HistogramNotes,
): FloatHistogram | undefined {
  const accumulator = new HistogramAccumulator(kind);
  for (let index = from; index < to; index += 1) {
    if (!accumulator.add(histograms[index] as FloatHistogram)) {
      notes.onlyMixedSchemas();
      return undefined;
    }
  }
  if (accumulator.counterResetCollision) notes.window |= noted.resetCollision;
  if (accumulator.boundsReconciled) notes.window |= noted.reconciledInAggregation;
  return accumulator.finish();
}
