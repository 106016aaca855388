/** The input and output of kernels: one series, its windows, and values at every step. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type AnnotationSink, type Grid, type SampleColumns, stepHistogram } from "../model.ts";

export interface WindowSpec {
  readonly grid: Grid;
  /** A window is (t - offset - range, t - offset]. */
  readonly rangeMs: number;
  readonly offsetMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
  /** How far beyond the window's edges `bounds` may look. Unused without `bounds`. */
  readonly lookbackMs: number;
  /** Every step uses the first step's window (the selector has `@`, but an argument varies). */
  readonly fixed: boolean;
  /** Whether start timestamps count as resets, in the functions that handle resets. */
  readonly useStartTs: boolean;
  /** Throws when the query was cancelled. Slow kernels call it at every large window. */
  readonly checkStop?: (() => void) | undefined;
}

/** One element per step. The owner may reuse it for the next series. */
export interface MutableSteps {
  readonly kinds: Uint8Array;
  /** Valid where the kind is float. */
  readonly values: Float64Array;
  /** Valid where the kind is histogram. Undefined on entry; the kernel creates it on demand. */
  histograms: (FloatHistogram | undefined)[] | undefined;
}

/**
 * Computes one series over its windows, and writes `kinds` at every step. An argument has one value
 * per step, or one for all. Kernels share scratch memory, so they must not run at the same time or
 * call each other.
 */
export type RangeKernel = (
  samples: SampleColumns,
  windows: WindowSpec,
  args: readonly Float64Array[],
  metricName: string,
  out: MutableSteps,
  annotations: AnnotationSink,
) => void;

/** Sets the step to a histogram. */
export function putHistogram(out: MutableSteps, step: number, histogram: FloatHistogram): void {
  out.kinds[step] = stepHistogram;
  out.histograms ??= new Array<FloatHistogram | undefined>(out.kinds.length).fill(undefined);
  out.histograms[step] = histogram;
}
