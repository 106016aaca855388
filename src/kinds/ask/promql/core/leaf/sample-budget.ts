/**
 * Counts the samples that a leaf holds, like Prometheus: those of the current window, and every
 * value of the results. A histogram counts as many samples as fill its size.
 */
import { PromqlError } from "../engine-types.ts";
import { tooManyLabels } from "../eval/sample-budget.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { WindowEdges } from "../kernels/windows.ts";
import { firstAfter } from "../kernels/windows.ts";
import type { Labels } from "../labels.ts";
import type { SampleColumns, StepSeries } from "../model.ts";
import { stepAbsent } from "../model.ts";

export class SampleBudget {
  readonly #samplesMax: number;
  readonly #labelBytesMax: number;
  #held = 0;
  #labelBytes = 0;

  constructor(samplesMax: number, labelBytesMax: number = Number.MAX_SAFE_INTEGER) {
    this.#samplesMax = samplesMax;
    this.#labelBytesMax = labelBytesMax;
  }

  /** Counts the labels of a series or group in the result. */
  holdLabels({ size }: Labels): void {
    this.#labelBytes += size;
    if (this.#labelBytes > this.#labelBytesMax) throw tooManyLabels(this.#labelBytesMax);
  }

  /** Throws when this many more are too many. */
  hold(sampleCount: number): void {
    this.check(sampleCount);
    this.#held += sampleCount;
  }

  check(sampleCount: number): void {
    if (this.#held + sampleCount > this.#samplesMax) {
      throw new PromqlError(
        "execution",
        "query processing would load too many samples into memory in query execution",
      );
    }
  }

  /** Throws if a window is too large. Looks at windows only if all samples are too many. */
  checkWindows(samples: SampleColumns, edges: WindowEdges): void {
    if (this.#held + sampleSize(samples, 0, samples.count) <= this.#samplesMax) return;
    for (let step = 0; step < edges.steps; step += 1) {
      const shiftMs = step * edges.strideMs;
      const from = firstAfter(samples.ts, samples.count, edges.startMs + shiftMs);
      const to = firstAfter(samples.ts, samples.count, edges.endMs + shiftMs);
      this.check(sampleSize(samples, from, to));
      if (edges.strideMs === 0) return;
    }
  }
}

/** How many samples those from `from` up to `to` count as. */
export function sampleSize({ histograms }: SampleColumns, from: number, to: number): number {
  if (histograms === undefined) return to - from;
  let size = 0;
  for (let index = from; index < to; index += 1) {
    const histogram = histograms[index];
    size += histogram === undefined ? 1 : histogramSize(histogram);
  }
  return size;
}

/** How many samples a series' values count as; 0 when it has none. */
export function valueSize({ kinds, histograms }: Pick<StepSeries, "kinds" | "histograms">): number {
  let size = 0;
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] !== stepAbsent) size += 1;
  }
  if (size === 0 || histograms === undefined) return size;
  for (const histogram of histograms) {
    if (histogram !== undefined) size += histogramSize(histogram) - 1;
  }
  return size;
}

/** In samples of 16 bytes; the time and the fixed part of a histogram are 176 bytes. */
function histogramSize(histogram: FloatHistogram): number {
  const elements =
    histogram.positiveSpans.length +
    histogram.negativeSpans.length +
    histogram.positiveBuckets.length +
    histogram.negativeBuckets.length +
    histogram.customValues.length;
  return Math.floor((176 + 8 * elements) / 16);
}
