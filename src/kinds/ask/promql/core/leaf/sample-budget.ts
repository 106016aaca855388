/**
 * Counts the samples that a leaf holds, like Prometheus: those of the current window, and every
 * value of the results. A histogram counts as many samples as fill its size.
 */
import { histogramSize, sampleSize, tooManyLabels, tooManySamples } from "../eval/sample-budget.ts";
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
    if (this.#held + sampleCount > this.#samplesMax) throw tooManySamples();
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
