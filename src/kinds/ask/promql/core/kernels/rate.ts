/**
 * rate, increase and delta: the change over each window, extrapolated to its edges or by `bounds`.
 */
import {
  annotate,
  mixedFloatsHistograms,
  possibleNonCounter,
  startTimeOverlap,
} from "../annotations.ts";
import { type AnnotationSink, type SampleColumns, stepFloat } from "../model.ts";
import { fillExtendedFloatRate } from "./extended-float-rate.ts";
import { fillExtendedHistogramRate } from "./extended-histogram-rate.ts";
import { type RateShape, toSeconds } from "./extrapolation.ts";
import { fillFloatRate, fillFloatRateWithStarts } from "./float-rate.ts";
import { fillHistogramRate } from "./histogram-rate.ts";
import { splitWindows } from "./split-windows.ts";
import type { MutableSteps, RangeKernel, WindowSpec } from "./types.ts";
import { reachedEdges, windowEdges } from "./windows.ts";

function rateKernel(isCounter: boolean, isRate: boolean): RangeKernel {
  return (samples, windows, _args, metricName, out, annotations) => {
    const shape = { isCounter, isRate, rangeSeconds: toSeconds(windows.rangeMs) };
    const fill = windows.bounds === undefined ? fillExtrapolated : fillExtended;
    fill(samples, windows, shape, metricName, out, annotations);
    if (isCounter) notePossibleNonCounter(metricName, windows, out, annotations);
  };
}

export const rate: RangeKernel = rateKernel(true, true);
export const increase: RangeKernel = rateKernel(true, false);
export const delta: RangeKernel = rateKernel(false, false);

function fillExtrapolated(
  samples: SampleColumns,
  windows: WindowSpec,
  shape: RateShape,
  metricName: string,
  out: MutableSteps,
  annotations: AnnotationSink,
): void {
  const edges = windowEdges(windows);
  const split = splitWindows(samples, edges);
  const { floats, floatBounds, histograms, histogramBounds } = split;
  const useStarts = shape.isCounter && windows.useStartTs;
  if (useStarts && floats.startTs !== undefined) {
    const overlaps = fillFloatRateWithStarts(
      floats,
      floats.startTs,
      floatBounds,
      edges,
      shape,
      out,
    );
    if (overlaps > 0) annotate(annotations, startTimeOverlap(metricName, overlaps), 0);
  } else {
    fillFloatRate(floats, floatBounds, edges, shape, out);
  }
  if (histograms === undefined || histogramBounds === undefined) return;
  if (split.mixed) annotate(annotations, mixedFloatsHistograms(metricName), 0);
  const startTs = useStarts ? histograms.startTs : undefined;
  const context = { shape, edges, metricName, annotations };
  fillHistogramRate({ ...histograms, startTs }, histogramBounds, context, out);
}

function fillExtended(
  samples: SampleColumns,
  windows: WindowSpec,
  shape: RateShape,
  metricName: string,
  out: MutableSteps,
  annotations: AnnotationSink,
): void {
  const split = splitWindows(samples, reachedEdges(windows));
  const { histograms, histogramBounds } = split;
  const smoothed = windows.bounds === "smoothed";
  const edges = windowEdges(windows);
  fillExtendedFloatRate(split.floats, split.floatBounds, edges, smoothed, shape, out);
  if (histograms === undefined || histogramBounds === undefined) return;
  if (split.mixed) annotate(annotations, mixedFloatsHistograms(metricName), 0);
  const context = { shape, edges, metricName, annotations };
  fillExtendedHistogramRate(histograms, histogramBounds, smoothed, context, out);
}

const counterSuffixes = ["_total", "_sum", "_count", "_bucket"] as const;

function notePossibleNonCounter(
  metricName: string,
  windows: WindowSpec,
  out: MutableSteps,
  annotations: AnnotationSink,
): void {
  if (metricName === "" || counterSuffixes.some((suffix) => metricName.endsWith(suffix))) return;
  if (out.kinds.subarray(0, windowEdges(windows).steps).includes(stepFloat)) {
    annotate(annotations, possibleNonCounter(metricName), 0);
  }
}
