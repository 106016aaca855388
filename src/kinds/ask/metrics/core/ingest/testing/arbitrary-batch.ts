/** Arbitrary batches for property tests, with every kind of sample and labels beyond ASCII. */
import fc from "fast-check";
import { type FloatHistogram, Labels } from "../../../../promql/core/index.ts";
import type { SampleBatch } from "../../model.ts";
import { BatchBuilder } from "../batch-builder.ts";

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
/** Excludes lone surrogates, which are not valid text. */
const wellFormed = text.filter((candidate) => candidate.isWellFormed());

const labels = fc
  .record({
    name: fc.constantFrom("up", "requests_total", "größe", "a.b"),
    rest: fc.dictionary(wellFormed, wellFormed, { maxKeys: 4 }),
  })
  .map(({ name, rest }) => Labels.of({ ...rest, __name__: name }));

const ts = fc.integer({ min: -(2 ** 45), max: 2 ** 45 });
const value = fc.double({ noNaN: true });

const sample = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("float" as const), ts, value }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stale" as const), ts }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("histogram" as const),
      ts,
      counts: fc.array(fc.nat(1e9), { maxLength: 5 }),
      offset: fc.integer({ min: -20, max: 20 }),
    }),
  },
);

/** Each series has at least one sample, and its samples are adjacent, as on the wire. */
export const arbitraryBatch: fc.Arbitrary<SampleBatch> = fc
  .array(fc.record({ labels, samples: fc.array(sample, { minLength: 1, maxLength: 5 }) }), {
    maxLength: 6,
  })
  .map((series) => {
    const builder = new BatchBuilder(2);
    for (const one of series) {
      const index = builder.addSeries(one.labels);
      for (const each of one.samples) {
        if (each.kind === "float") builder.addFloat(index, each.ts, each.value);
        else if (each.kind === "stale") builder.addStale(index, each.ts);
        else builder.addHistogram(index, each.ts, histogramOf(each.counts, each.offset));
      }
    }
    return builder.build();
  });

export function histogramOf(counts: readonly number[], offset: number): FloatHistogram {
  const spans = counts.length === 0 ? [] : [{ offset, length: counts.length }];
  return {
    counterResetHint: "not_reset",
    schema: 3,
    zeroThreshold: 1e-128,
    zeroCount: 2,
    count: counts.reduce((sum, count) => sum + count, 2),
    sum: 12.5,
    positiveSpans: spans,
    positiveBuckets: counts,
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}
