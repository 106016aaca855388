/** A native histogram with float counts, as PromQL computes with it. The operations are beside this file. */

/** Unknown: compare with the one before. */
export type CounterResetHint = "unknown" | "reset" | "not_reset" | "gauge";

/** A run of buckets: `offset` from the end of the run before it (the first: from bucket 0), then `length` buckets. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** Custom buckets: `customValues` are their upper bounds, and only the positive side is used. */
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
