/** Histograms for tests. */
import fc from "fast-check";
import { exponentialBound } from "../bounds.ts";
import {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
  type Span,
} from "../float-histogram.ts";

/** Parts that are not given are empty; the count is that of the buckets. */
export function makeHistogram(parts: Partial<FloatHistogram>): FloatHistogram {
  const zeroCount = parts.zeroCount ?? 0;
  const positiveBuckets = parts.positiveBuckets ?? [];
  const negativeBuckets = parts.negativeBuckets ?? [];
  return {
    counterResetHint: "unknown",
    schema: 0,
    zeroThreshold: 0,
    zeroCount,
    count: [...positiveBuckets, ...negativeBuckets].reduce((a, b) => a + b, zeroCount),
    sum: 0,
    positiveSpans: spansFor(positiveBuckets),
    positiveBuckets,
    negativeSpans: spansFor(negativeBuckets),
    negativeBuckets,
    customValues: [],
    ...parts,
  };
}

/**
 * One run, from bucket 0 of custom buckets or bucket 1 of exponential ones, whose lower bound is 1.
 */
function spansFor(buckets: readonly number[]): Span[] {
  return buckets.length === 0 ? [] : [{ offset: 1, length: buckets.length }];
}

export function makeCustom(
  customValues: readonly number[],
  positiveBuckets: readonly number[],
  parts: Partial<FloatHistogram> = {},
): FloatHistogram {
  return makeHistogram({
    schema: customBucketsSchema,
    customValues,
    positiveBuckets,
    positiveSpans: [{ offset: 0, length: positiveBuckets.length }],
    ...parts,
  });
}

const hints: readonly CounterResetHint[] = ["unknown", "reset", "not_reset", "gauge"];

interface Layout {
  readonly spans: Span[];
  readonly buckets: number[];
}

function arbitrarySide(count: fc.Arbitrary<number>): fc.Arbitrary<Layout> {
  const run = fc.record({
    offset: fc.nat({ max: 4 }),
    buckets: fc.array(count, { minLength: 1, maxLength: 4 }),
  });
  return fc.array(run, { maxLength: 3 }).map((runs) => ({
    spans: runs.map(({ offset, buckets }) => ({ offset, length: buckets.length })),
    buckets: runs.flatMap(({ buckets }) => buckets),
  }));
}

/** A histogram with exponential buckets and counts from `count`. */
export function arbitraryExponential(
  count: fc.Arbitrary<number> = fc.nat({ max: 1_000 }),
): fc.Arbitrary<FloatHistogram> {
  const side = arbitrarySide(count);
  return fc
    .record({
      counterResetHint: fc.constantFrom(...hints),
      schema: fc.integer({ min: -4, max: 8 }),
      zeroThreshold: fc.constantFrom(0, 0.001, 0.5, 1, 1.5, 3),
      zeroCount: count,
      sum: fc.integer({ min: -1_000, max: 1_000 }),
      positive: side,
      negative: side,
    })
    .map(({ positive, negative, ...rest }) =>
      makeHistogram({
        ...rest,
        positiveSpans: beyondZero(positive.spans, rest.schema, rest.zeroThreshold),
        positiveBuckets: positive.buckets,
        negativeSpans: beyondZero(negative.spans, rest.schema, rest.zeroThreshold),
        negativeBuckets: negative.buckets,
      }),
    );
}

/** Moves the first bucket to the end of the zero bucket, or beyond. */
function beyondZero(spans: readonly Span[], schema: number, zeroThreshold: number): Span[] {
  let first = -6;
  while (exponentialBound(first - 1, schema) < zeroThreshold) first += 1;
  return spans.map(({ offset, length }, index) => ({
    offset: index === 0 ? offset + first : offset,
    length,
  }));
}

export function arbitraryCustom(
  count: fc.Arbitrary<number> = fc.nat({ max: 1_000 }),
): fc.Arbitrary<FloatHistogram> {
  return fc
    .record({
      counterResetHint: fc.constantFrom(...hints),
      sum: fc.integer({ min: -1_000, max: 1_000 }),
      bounds: fc.uniqueArray(fc.integer({ min: -5, max: 10 }), { maxLength: 6 }),
      counts: fc.array(count, { minLength: 7, maxLength: 7 }),
    })
    .map(({ bounds, counts, ...rest }) =>
      makeCustom(
        bounds.toSorted((a, b) => a - b),
        counts.slice(0, bounds.length + 1),
        rest,
      ),
    );
}

/**
 * Two histograms that combine without loss: of one kind, with the same schema or the same zero
 * bucket. Where both differ, Prometheus's sum depends on the order, and so does ours.
 */
export function arbitraryPair(): fc.Arbitrary<[FloatHistogram, FloatHistogram]> {
  const exponential = arbitraryExponential();
  const sameSchema = fc
    .tuple(exponential, exponential)
    .filter(([a, b]) => a.zeroThreshold === b.zeroThreshold || a.schema === b.schema);
  return fc.oneof(sameSchema, fc.tuple(arbitraryCustom(), arbitraryCustom()));
}
