/** The instant selector: the last sample at every step, unless it is too old or a stale marker. */
import {
  annotate,
  mixedExponentialCustomHistograms,
  mixedFloatsHistograms,
} from "../annotations.ts";
import { customBucketsSchema } from "../histogram/float-histogram.ts";
import {
  type AnnotationSink,
  type Grid,
  type SampleColumns,
  stepAbsent,
  stepCount,
  stepFloat,
} from "../model.ts";
import { interpolate } from "./extended-float-rate.ts";
import { interpolateHistograms } from "./interpolate-histograms.ts";
import type { FloatSamples, HistogramSamples } from "./split-samples.ts";
import { splitWindows } from "./split-windows.ts";
import { type MutableSteps, putHistogram } from "./types.ts";
import { BoundsFinder, firstAfter } from "./windows.ts";

export interface InstantSelection {
  readonly grid: Grid;
  readonly offsetMs: number;
  /** A sample is visible for less than this after its time. */
  readonly lookbackMs: number;
}

/** `timestamp` is the sample's own time, `start_timestamp` its counter's start, in seconds. */
export type Selected = "value" | "timestamp" | "start_timestamp";

const finder = new BoundsFinder();

export function selectInstant(
  samples: SampleColumns,
  selection: InstantSelection,
  selected: Selected,
  out: MutableSteps,
): void {
  const { grid, offsetMs, lookbackMs } = selection;
  const endMs = grid.startMs - offsetMs;
  const steps = stepCount(grid);
  const edges = { steps, startMs: endMs - lookbackMs, endMs, strideMs: grid.stepMs };
  const { ts, stale, histograms } = samples;
  const { lo, hi } = finder.find(ts, samples.count, edges);
  const column = columnOf(samples, selected);
  const scale = selected === "value" ? 1 : 1000;
  for (let step = 0; step < steps; step += 1) {
    const last = (hi[step] as number) - 1;
    if (last < (lo[step] as number) || stale?.[last] === 1) {
      out.kinds[step] = stepAbsent;
      continue;
    }
    const histogram = selected === "value" ? histograms?.[last] : undefined;
    if (histogram !== undefined) {
      putHistogram(out, step, histogram);
      continue;
    }
    out.kinds[step] = stepFloat;
    out.values[step] = column === undefined ? 0 : (column[last] as number) / scale;
  }
}

/** Undefined stands for zeros. */
function columnOf(samples: SampleColumns, selected: Selected): Float64Array | undefined {
  if (selected === "value") return samples.values;
  return selected === "timestamp" ? samples.ts : samples.startTs;
}

/** Interpolates between the samples around the time (KL11). */
export function selectSmoothed(
  samples: SampleColumns,
  selection: InstantSelection,
  metricName: string,
  out: MutableSteps,
  annotations: AnnotationSink,
): void {
  const { grid, offsetMs, lookbackMs } = selection;
  const atMs = grid.startMs - offsetMs;
  const edges = {
    steps: stepCount(grid),
    startMs: atMs - lookbackMs,
    endMs: atMs + lookbackMs,
    strideMs: grid.stepMs,
  };
  const split = splitWindows(samples, edges);
  const { floats, floatBounds, histograms, histogramBounds } = split;
  if (split.mixed) annotate(annotations, mixedFloatsHistograms(metricName), "call");
  for (let step = 0; step < edges.steps; step += 1) {
    const timeMs = atMs + step * grid.stepMs;
    out.kinds[step] = stepAbsent;
    const floatEnd = floatBounds.hi[step] as number;
    const floatStart = floatBounds.lo[step] as number;
    if (floatEnd > floatStart) smoothFloat(floats, floatStart, floatEnd, timeMs, step, out);
    if (histograms === undefined || histogramBounds === undefined) continue;
    const start = histogramBounds.lo[step] as number;
    const end = histogramBounds.hi[step] as number;
    if (end <= start) continue;
    smoothHistogram(histograms, start, end, timeMs, { step, out, metricName, annotations });
  }
}

function smoothFloat(
  floats: FloatSamples,
  from: number,
  to: number,
  timeMs: number,
  step: number,
  out: MutableSteps,
): void {
  const last = firstAfter(floats.ts, to, timeMs) - 1;
  if (last < from) return;
  out.kinds[step] = stepFloat;
  out.values[step] =
    floats.ts[last] === timeMs || last + 1 === to
      ? (floats.values[last] as number)
      : interpolate(floats, last, timeMs, false);
}

interface SmoothStep {
  readonly step: number;
  readonly out: MutableSteps;
  readonly metricName: string;
  readonly annotations: AnnotationSink;
}

function smoothHistogram(
  { ts, histograms }: HistogramSamples,
  from: number,
  to: number,
  timeMs: number,
  { step, out, metricName, annotations }: SmoothStep,
): void {
  const last = firstAfter(ts, to, timeMs) - 1;
  const before = histograms[last];
  if (last < from || before === undefined) return;
  if (ts[last] === timeMs) {
    putHistogram(out, step, before);
    return;
  }
  const after = last + 1 < to ? histograms[last + 1] : undefined;
  if (after === undefined) {
    // The hint is about the sample before, not about the value of the step before.
    putHistogram(out, step, { ...before, counterResetHint: "unknown" });
    return;
  }
  const mixedSchemas =
    (before.schema === customBucketsSchema) !== (after.schema === customBucketsSchema);
  // Everything that is not marked as a gauge is a counter.
  const isCounter = before.counterResetHint !== "gauge" || after.counterResetHint !== "gauge";
  const between = mixedSchemas
    ? undefined
    : interpolateHistograms(before, ts[last] as number, after, ts[last + 1] as number, timeMs, {
        isCounter,
        place: "call",
        annotations,
      });
  if (between === undefined) {
    annotate(annotations, mixedExponentialCustomHistograms(metricName), "call");
  } else {
    putHistogram(out, step, between);
  }
}
