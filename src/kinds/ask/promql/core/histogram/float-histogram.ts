/** A native histogram with float counts, as PromQL computes with it. */

/** `unknown` means that it must be compared with the one before. */
export type CounterResetHint = "unknown" | "reset" | "not_reset" | "gauge";

/** A run of `length` buckets; `offset` is from the end of the run before, or from bucket 0. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** With custom buckets, `customValues` has the upper bounds, and only the positive side is used. */
export const customBucketsSchema = -53;

/** Immutable once it is in a `SampleColumns` or a `StepSeries`. */
export interface FloatHistogram {
  readonly counterResetHint: CounterResetHint;
  /** -4 to 8 (exponential), or `customBucketsSchema`. */
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  readonly positiveSpans: readonly Span[];
  readonly positiveBuckets: readonly number[];
  readonly negativeSpans: readonly Span[];
  readonly negativeBuckets: readonly number[];
  readonly customValues: readonly number[];
}

/** Counts nothing, in exponential buckets. */
export const emptyHistogram: FloatHistogram = {
  counterResetHint: "unknown",
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  positiveSpans: [],
  positiveBuckets: [],
  negativeSpans: [],
  negativeBuckets: [],
  customValues: [],
};
