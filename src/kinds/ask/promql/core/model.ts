/**
 * What is evaluated: samples as they were stored, and values at the steps of a grid. Both are columns of one series.
 * Times are milliseconds since 1970 as float64, which is exact for every time that is meant.
 */
import type { FloatHistogram } from "./histogram/float-histogram.ts";
import type { Labels } from "./labels.ts";

/** The times at which an expression is evaluated: `startMs`, then every `stepMs`, up to and including `endMs`. */
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
 * Samples of one series, their times strictly ascending. Columns may be longer than `count`: only the first `count`
 * elements mean anything. Shared and never written to once made.
 */
export interface SampleColumns {
  readonly count: number;
  readonly ts: Float64Array;
  /** Of a histogram sample or a stale marker: anything. */
  readonly values: Float64Array;
  /** 1: the series ended here. Absent: there is no such marker among them. */
  readonly stale: Uint8Array | undefined;
  /** At a histogram sample, the histogram. Absent: there is none among them. */
  readonly histograms: readonly (FloatHistogram | undefined)[] | undefined;
  /** When the counter started, 0 where unknown. Absent: unknown for all of them. */
  readonly startTs: Float64Array | undefined;
}

export interface RawSeries {
  readonly labels: Labels;
  readonly samples: SampleColumns;
}

/** In `StepSeries.kinds`. */
export const stepAbsent = 0;
export const stepFloat = 1;
export const stepHistogram = 2;

/** Values of one series at every step of a grid. */
export interface StepSeries {
  readonly labels: Labels;
  /** The metric name is to be removed from the result in the end (delayed name removal). */
  readonly dropName: boolean;
  /** One element per step. */
  readonly kinds: Uint8Array;
  /** One element per step; meaningful where the kind is float. */
  readonly values: Float64Array;
  /** One element per step; defined where the kind is histogram. Absent: there is none. */
  readonly histograms: (FloatHistogram | undefined)[] | undefined;
}

/** A place in the query's text: UTF-8 byte offsets, the end excluded. */
export interface Position {
  readonly start: number;
  readonly end: number;
}

/** What the answer says besides its values. `message` has no position and no prefix. */
export interface Annotation {
  readonly level: "warning" | "info";
  readonly message: string;
  readonly position: Position;
}

/** Where in a call something was noticed: the index of an argument, or the call itself. */
export type CallPlace = number | "call";

/** Collects annotations; equal ones once. The text before the position is complete: it names the metric where it should. */
export interface AnnotationSink {
  add(level: Annotation["level"], message: string, place: CallPlace): void;
}
