/**
 * The data of evaluation: stored samples, and values at the steps of a grid, both as columns of one
 * series. Times are milliseconds since 1970 as float64, which is exact for all realistic times.
 */
import type { FloatHistogram } from "./histogram/float-histogram.ts";
import type { Labels } from "./labels.ts";

/**
 * The times at which an expression is evaluated: `startMs`, then every `stepMs`, up to and
 * including `endMs`.
 */
export interface Grid {
  readonly startMs: number;
  readonly endMs: number;
  /** At least 1. */
  readonly stepMs: number;
}

export function stepCount({ startMs, endMs, stepMs }: Grid): number {
  return endMs < startMs ? 0 : Math.floor((endMs - startMs) / stepMs) + 1;
}

export function instantGrid(atMs: number): Grid {
  return { startMs: atMs, endMs: atMs, stepMs: 1 };
}

/**
 * Samples of one series, with strictly ascending times. Only the first `count` elements of a column
 * are valid. Shared, and never written to once made.
 */
export interface SampleColumns {
  readonly count: number;
  readonly ts: Float64Array;
  /** Arbitrary for a histogram sample or a stale marker. */
  readonly values: Float64Array;
  /** 1 for a stale marker. Undefined when there is none. */
  readonly stale: Uint8Array | undefined;
  /** The histogram of each histogram sample. Undefined when there is none. */
  readonly histograms: readonly (FloatHistogram | undefined)[] | undefined;
  /** When the counter started; 0 where unknown. Undefined when all are unknown. */
  readonly startTs: Float64Array | undefined;
}

export interface RawSeries {
  readonly labels: Labels;
  readonly samples: SampleColumns;
}

/** The values of `StepSeries.kinds`. */
export const stepAbsent = 0;
export const stepFloat = 1;
export const stepHistogram = 2;

/** Values of one series at every step of a grid. */
export interface StepSeries {
  readonly labels: Labels;
  /** Whether the metric name is removed at the end (delayed name removal). */
  readonly dropName: boolean;
  /** One element per step. */
  readonly kinds: Uint8Array;
  /** One element per step; meaningful where the kind is float. */
  readonly values: Float64Array;
  /** One element per step; defined where the kind is histogram. Undefined when there is none. */
  readonly histograms: (FloatHistogram | undefined)[] | undefined;
}

/** A range of the query's text in UTF-8 bytes, the end exclusive. */
export interface Position {
  readonly start: number;
  readonly end: number;
}

/** A note of the answer. `message` has no position and no prefix. */
export interface Annotation {
  readonly level: "warning" | "info";
  readonly message: string;
  readonly position: Position;
}

/** The part of a call that a note is about: the index of an argument, or the call itself. */
export type CallPlace = number | "call";

/** Collects annotations, equal ones once. `message` is complete, including the metric's name. */
export interface AnnotationSink {
  add(level: Annotation["level"], message: string, place: CallPlace): void;
}
