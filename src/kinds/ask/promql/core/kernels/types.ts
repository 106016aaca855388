/** What a kernel is given and what it fills: one series, the windows over it, and its values at every step. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type AnnotationSink, type Grid, type SampleColumns, stepHistogram } from "../model.ts";

export interface WindowSpec {
  readonly grid: Grid;
  /** A window is (t - offset - range, t - offset]. */
  readonly rangeMs: number;
  readonly offsetMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
  /** How far beyond the window's edges `bounds` may look. Meaningless without them. */
  readonly lookbackMs: number;
  /** The window of the first step serves every step (the selector has `@`, but an argument varies). */
  readonly fixed: boolean;
  /** Whether start timestamps count as resets, in the functions that know of resets. */
  readonly useStartTs: boolean;
  /** Throws where the result is no longer wanted. Kernels that take long for a window ask it at every large one. */
  readonly checkStop?: (() => void) | undefined;
}

/** One element per step. Whoever owns it may use it for the next series. */
export interface MutableSteps {
  readonly kinds: Uint8Array;
  /** Written where the kind is float. */
  readonly values: Float64Array;
  /** Written where the kind is histogram. Absent on entry: the kernel makes it when it needs it. */
  histograms: (FloatHistogram | undefined)[] | undefined;
}

/**
 * One series through its windows. Writes `kinds` at every step. An argument has one value per step, or a single one for
 * all of them. Kernels share scratch space, so one runs at a time and none calls another.
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
