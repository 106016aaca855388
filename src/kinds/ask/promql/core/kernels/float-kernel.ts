/** Kernels of floats only. Histograms in the same window are ignored with an annotation. */
import { annotate, histogramIgnoredInMixedRange } from "../annotations.ts";
import { type AnnotationSink, type SampleColumns, stepAbsent } from "../model.ts";
import { type FloatSamples, floatsOf, histogramsOf } from "./split-samples.ts";
import type { MutableSteps, RangeKernel, WindowSpec } from "./types.ts";
import { BoundsFinder, type WindowBounds, windowEdges } from "./windows.ts";

/** Fills `out` for one series: at every step, the function of the floats from `lo` up to `hi`. */
export type FloatBody = (
  floats: FloatSamples,
  bounds: WindowBounds,
  out: MutableSteps,
  call: FloatCall,
) => void;

export interface FloatCall {
  readonly windows: WindowSpec;
  readonly args: readonly Float64Array[];
  readonly annotations: AnnotationSink;
}

const floatBounds = new BoundsFinder();
const histogramBounds = new BoundsFinder();

export function floatKernel(body: FloatBody): RangeKernel {
  return (samples, windows, args, metricName, out, annotations) => {
    const floats = floatsOf(samples);
    const edges = windowEdges(windows);
    if (floats.count === 0) {
      out.kinds.fill(stepAbsent, 0, edges.steps);
      return;
    }
    const bounds = floatBounds.find(floats.ts, floats.count, edges);
    body(floats, bounds, out, { windows, args, annotations });
    if (samples.histograms !== undefined && anyMixed(samples, bounds, windows)) {
      annotate(annotations, histogramIgnoredInMixedRange(metricName), 0);
    }
  };
}

function anyMixed(samples: SampleColumns, floats: WindowBounds, windows: WindowSpec): boolean {
  const histograms = histogramsOf(samples);
  if (histograms === undefined) return false;
  const found = histogramBounds.find(histograms.ts, histograms.count, windowEdges(windows));
  return someMixedWindow(floats, found);
}

/** Whether some window holds both floats and histograms. */
function someMixedWindow(floats: WindowBounds, histograms: WindowBounds): boolean {
  for (let step = 0; step < floats.steps; step += 1) {
    if (holdsAny(floats, step) && holdsAny(histograms, step)) return true;
  }
  return false;
}

function holdsAny({ lo, hi }: WindowBounds, step: number): boolean {
  return (hi[step] as number) > (lo[step] as number);
}

/** The argument at a step. */
export function argAt(arg: Float64Array | undefined, step: number): number {
  if (arg === undefined) return Number.NaN;
  return (arg.length === 1 ? arg[0] : arg[step]) as number;
}
