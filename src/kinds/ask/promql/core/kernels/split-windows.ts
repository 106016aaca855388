/** Windows over a series' floats and over its histograms, for functions that take only one kind. */
import type { SampleColumns } from "../model.ts";
import {
  type FloatSamples,
  floatsOf,
  type HistogramSamples,
  histogramsOf,
} from "./split-samples.ts";
import { BoundsFinder, type WindowBounds, type WindowEdges } from "./windows.ts";

export interface SplitWindows {
  readonly floats: FloatSamples;
  readonly floatBounds: WindowBounds;
  /** Undefined when the series has none. */
  readonly histograms: HistogramSamples | undefined;
  readonly histogramBounds: WindowBounds | undefined;
  /** Whether some windows held both kinds. Those are empty in both bounds now. */
  readonly mixed: boolean;
}

const floatFinder = new BoundsFinder();
const histogramFinder = new BoundsFinder();

export function splitWindows(samples: SampleColumns, edges: WindowEdges): SplitWindows {
  const floats = floatsOf(samples);
  const floatBounds = floatFinder.find(floats.ts, floats.count, edges);
  const histograms = samples.histograms === undefined ? undefined : histogramsOf(samples);
  if (histograms === undefined) {
    return { floats, floatBounds, histograms, histogramBounds: undefined, mixed: false };
  }
  const histogramBounds = histogramFinder.find(histograms.ts, histograms.count, edges);
  const mixed = emptyMixedWindows(floatBounds, histogramBounds);
  return { floats, floatBounds, histograms, histogramBounds, mixed };
}

function emptyMixedWindows(a: WindowBounds, b: WindowBounds): boolean {
  let mixed = false;
  for (let step = 0; step < a.steps; step += 1) {
    if (a.hi[step] === a.lo[step] || b.hi[step] === b.lo[step]) continue;
    mixed = true;
    a.hi[step] = a.lo[step] as number;
    b.hi[step] = b.lo[step] as number;
  }
  return mixed;
}
