/**
 * rate, increase and delta of native histograms: last minus first, plus the value before each
 * reset, extrapolated by the counts of observations.
 */
import { detectReset } from "../histogram/detect-reset.ts";
import { emptyHistogram, type FloatHistogram } from "../histogram/float-histogram.ts";
import { compactHistogram, copyToSchema, scaleHistogram } from "../histogram/scale.ts";
import type { AnnotationSink } from "../model.ts";
import { extrapolationFactor, type RateShape } from "./extrapolation.ts";
import { startWithin } from "./float-rate.ts";
import { HistogramNotes, noted, usesCustomBuckets } from "./histogram-notes.ts";
import type { HistogramSamples } from "./split-samples.ts";
import { isStartReset, startsOverlap } from "./start-timestamps.ts";
import { type MutableSteps, putHistogram } from "./types.ts";
import type { WindowBounds, WindowEdges } from "./windows.ts";

export interface HistogramRateContext {
  readonly shape: RateShape;
  readonly edges: WindowEdges;
  readonly metricName: string;
  readonly annotations: AnnotationSink;
}

/** Writes only the steps with a result. `startTs` is absent when it is not used. */
export function fillHistogramRate(
  samples: HistogramSamples,
  { steps, lo, hi }: WindowBounds,
  context: HistogramRateContext,
  out: MutableSteps,
): void {
  const notes = new HistogramNotes();
  const resets = new ResetFlags(samples);
  for (let step = 0; step < steps; step += 1) {
    const first = lo[step] as number;
    const last = (hi[step] as number) - 1;
    if (last < first) continue;
    const shiftMs = step * context.edges.strideMs;
    const result = windowRate(samples, resets, first, last, shiftMs, context, notes);
    notes.keepWindow();
    if (result !== undefined) putHistogram(out, step, result);
  }
  notes.report(context.metricName, context.annotations);
}

function windowRate(
  samples: HistogramSamples,
  resets: ResetFlags,
  first: number,
  last: number,
  shiftMs: number,
  { shape, edges }: HistogramRateContext,
  notes: HistogramNotes,
): FloatHistogram | undefined {
  const { ts, startTs } = samples;
  const firstHistogram = samples.histograms[first] as FloatHistogram;
  let change: FloatHistogram | undefined;
  if (last > first) {
    change = changeBetween(samples, resets, first, last, shape.isCounter, notes);
    if (change === undefined) return undefined;
  }
  const firstMs = ts[first] as number;
  const startMs =
    startTs === undefined
      ? Number.NaN
      : startWithin(startTs[first] as number, edges.startMs + shiftMs, firstMs);
  const increase = change?.count ?? 0;
  if (!Number.isNaN(startMs)) {
    // A known start is a sample of zero.
    change = change === undefined ? firstHistogram : notes.add(change, firstHistogram);
  }
  if (change === undefined) return undefined;
  const factor = extrapolationFactor(
    shape,
    firstMs,
    ts[last] as number,
    last - first,
    edges.startMs + shiftMs,
    edges.endMs + shiftMs,
    firstHistogram.count,
    increase,
    startMs,
  );
  return scaleHistogram(change, factor);
}

/** Last minus first, corrected for resets, as a gauge; undefined for incompatible buckets. */
function changeBetween(
  samples: HistogramSamples,
  resets: ResetFlags,
  first: number,
  last: number,
  isCounter: boolean,
  notes: HistogramNotes,
): FloatHistogram | undefined {
  const { histograms } = samples;
  const firstHistogram = histograms[first] as FloatHistogram;
  const lastHistogram = histograms[last] as FloatHistogram;
  const gauges =
    (firstHistogram.counterResetHint === "gauge" ? 1 : 0) +
    (lastHistogram.counterResetHint === "gauge" ? 1 : 0);
  if (isCounter && gauges > 0) notes.window |= noted.notCounter;
  // A reset right after the first sample makes it count as empty. Subtracting an empty histogram
  // still matters: it reconciles custom buckets with those of the second sample.
  const skipsFirst = isCounter && resets.at(first + 1);
  const base = skipsFirst ? emptyLike(histograms[first + 1] as FloatHistogram) : firstHistogram;
  const custom = usesCustomBuckets(base);
  if (usesCustomBuckets(lastHistogram) !== custom) {
    notes.window |= noted.mixedSchemas;
    return undefined;
  }
  let schema = Math.min(lastHistogram.schema, base.schema);
  if (isCounter) {
    for (let index = first + 1; index < last; index += 1) {
      const histogram = histograms[index] as FloatHistogram;
      if (histogram.counterResetHint === "gauge") notes.window |= noted.notCounter;
      if (histogram.schema < schema) schema = histogram.schema;
      if (usesCustomBuckets(histogram) !== custom) {
        notes.onlyMixedSchemas();
        return undefined;
      }
    }
  }
  let change = notes.sub(copyToSchema(lastHistogram, schema), base);
  if (isCounter) {
    if (overlapsWithin(samples, first, last)) notes.window |= noted.overlap;
    if (skipsFirst && change !== undefined && resets.surelyAt(first + 1)) {
      change = notes.add(change, base);
    }
    for (let index = first + 2; index <= last && change !== undefined; index += 1) {
      if (resets.at(index)) change = notes.add(change, histograms[index - 1] as FloatHistogram);
    }
  } else if (gauges < 2) {
    notes.window |= noted.notGauge;
  }
  if (change === undefined) {
    notes.onlyMixedSchemas();
    return undefined;
  }
  return compactHistogram({ ...change, counterResetHint: "gauge" });
}

function emptyLike({ schema, customValues }: FloatHistogram): FloatHistogram {
  return { ...emptyHistogram, schema, customValues };
}

function overlapsWithin({ ts, startTs }: HistogramSamples, first: number, last: number): boolean {
  if (startTs === undefined) return false;
  for (let index = first + 1; index <= last; index += 1) {
    if (startsOverlap(ts, startTs, index)) return true;
  }
  return false;
}

/**
 * Whether a histogram is a reset after the one before; computed once, on demand, for all windows.
 */
class ResetFlags {
  readonly #samples: HistogramSamples;
  /** 0: not computed yet, 1: no, 2: yes. */
  readonly #known: Uint8Array;

  constructor(samples: HistogramSamples) {
    this.#samples = samples;
    this.#known = new Uint8Array(samples.count);
  }

  at(index: number): boolean {
    if (this.#known[index] === 0) this.#known[index] = this.#isReset(index) ? 2 : 1;
    return this.#known[index] === 2;
  }

  /** Whether it is a reset whatever precedes it. */
  surelyAt(index: number): boolean {
    const current = this.#samples.histograms[index] as FloatHistogram;
    return current.counterResetHint === "reset" || this.#startsAnew(index);
  }

  #isReset(index: number): boolean {
    const { histograms } = this.#samples;
    return (
      this.#startsAnew(index) ||
      detectReset(histograms[index] as FloatHistogram, histograms[index - 1] as FloatHistogram)
    );
  }

  #startsAnew(index: number): boolean {
    const { ts, startTs } = this.#samples;
    return startTs !== undefined && isStartReset(ts, startTs, index);
  }
}
