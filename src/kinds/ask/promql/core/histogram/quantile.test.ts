import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nearlyEqual } from "./equality.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { histogramFraction, histogramQuantile, histogramVariance } from "./quantile.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";

const positive = makeHistogram({ positiveBuckets: [4, 4] }); // (1, 2] and (2, 4].
const negative = makeHistogram({ negativeBuckets: [4, 4] });
const aroundZero = makeHistogram({ zeroThreshold: 1, zeroCount: 4, positiveBuckets: [4] });
const bothSides = makeHistogram({
  zeroThreshold: 1,
  zeroCount: 2,
  positiveBuckets: [1],
  negativeBuckets: [1],
});
const custom = makeCustom([1, 3], [2, 2, 4]);
const belowZero = makeCustom([-2, 3], [2, 2, 0]);

const quantileCases: { name: string; of: FloatHistogram; at: number; want: number }[] = [
  {
    name: "the middle of an exponential bucket is geometric",
    of: positive,
    at: 0.25,
    want: Math.SQRT2,
  },
  { name: "a bound of a bucket", of: positive, at: 0.5, want: 2 },
  { name: "the greatest", of: positive, at: 1, want: 4 },
  { name: "the least", of: positive, at: 0, want: 1 },
  { name: "negative buckets are mirrored", of: negative, at: 0.75, want: -Math.SQRT2 },
  { name: "a zero bucket without negative ones begins at 0", of: aroundZero, at: 0.25, want: 0.5 },
  { name: "a zero bucket between both sides is linear", of: bothSides, at: 0.5, want: 0 },
  { name: "custom buckets are linear", of: custom, at: 0.375, want: 2 },
  { name: "the first custom bucket begins at 0", of: custom, at: 0.125, want: 0.5 },
  { name: "the last custom bucket is as its lower bound", of: custom, at: 0.9, want: 3 },
  { name: "a first custom bucket below 0 is as its upper bound", of: belowZero, at: 0.1, want: -2 },
  { name: "below 0", of: positive, at: -0.1, want: Number.NEGATIVE_INFINITY },
  { name: "above 1", of: positive, at: 1.1, want: Number.POSITIVE_INFINITY },
  { name: "NaN", of: positive, at: Number.NaN, want: Number.NaN },
  { name: "nothing observed", of: makeHistogram({}), at: 0.5, want: Number.NaN },
];
for (const { name, of, at, want } of quantileCases) {
  test(`[HG6] ${name}`, () => {
    const got = histogramQuantile(at, of, () => assert.fail("no note"));
    assert.ok(nearlyEqual(got, want, 1e-15), `${got}`);
  });
}

test("[HG6] observations of NaN are greater than everything, and noted", () => {
  const withNan = makeHistogram({ positiveBuckets: [4, 4], count: 10, sum: Number.NaN });
  const notes: string[] = [];
  assert.equal(
    histogramQuantile(0.9, withNan, (kind) => notes.push(kind)),
    Number.NaN,
  );
  histogramQuantile(0.2, withNan, (kind) => notes.push(kind));
  assert.deepEqual(notes, ["nan_result", "nan_skew"]);
  // Infinities of both signs also make the sum NaN, but no observation is missing.
  const infinite = makeHistogram({ positiveBuckets: [4, 4], sum: Number.NaN });
  histogramQuantile(0.2, infinite, () => assert.fail("no note"));
});

// Without bounds there is only one infinite bucket, of which nothing is known.
const populated = fc
  .oneof(
    arbitraryExponential(),
    arbitraryCustom().filter(({ customValues }) => customValues.length > 0),
  )
  .filter(({ count }) => count > 0);
const unit = fc.double({ min: 0, max: 1, noNaN: true });

test("[HG6] a greater quantile is not a lesser value", () => {
  fc.assert(
    fc.property(populated, unit, unit, (histogram, a, b) => {
      const low = histogramQuantile(Math.min(a, b), histogram, () => undefined);
      const high = histogramQuantile(Math.max(a, b), histogram, () => undefined);
      assert.ok(low <= high || nearlyEqual(low, high, 1e-9), `${low} ${high}`);
    }),
  );
});

const infinity = Number.POSITIVE_INFINITY;
const fractionCases: {
  name: string;
  of: FloatHistogram;
  from: number;
  to: number;
  want: number;
}[] = [
  { name: "everything", of: positive, from: -infinity, to: infinity, want: 1 },
  { name: "a whole bucket", of: positive, from: 1, to: 2, want: 0.5 },
  { name: "part of an exponential bucket", of: positive, from: 1, to: Math.SQRT2, want: 0.25 },
  { name: "across zero", of: bothSides, from: -0.5, to: 0.5, want: 0.25 },
  { name: "a zero bucket without negative ones", of: aroundZero, from: 0, to: 0.5, want: 0.25 },
  { name: "part of a custom bucket", of: custom, from: 0.5, to: 2, want: 0.25 },
  { name: "into the last custom bucket", of: custom, from: 3, to: 9, want: 0 },
  { name: "the last custom bucket", of: custom, from: 3, to: infinity, want: 0.5 },
  { name: "from above to below", of: positive, from: 2, to: 1, want: 0 },
  { name: "NaN", of: positive, from: Number.NaN, to: 1, want: Number.NaN },
  { name: "of nothing", of: makeHistogram({}), from: 0, to: 1, want: Number.NaN },
];
for (const { name, of, from, to, want } of fractionCases) {
  test(`[HG7] ${name}`, () => {
    const got = histogramFraction(from, to, of, () => assert.fail("no note"));
    assert.ok(nearlyEqual(got, want, 1e-14), `${got}`);
  });
}

test("[HG7] observations of NaN are in no fraction, and noted", () => {
  const withNan = makeHistogram({ positiveBuckets: [4, 4], count: 16, sum: Number.NaN });
  let noted = 0;
  const got = histogramFraction(-infinity, infinity, withNan, () => {
    noted += 1;
  });
  assert.deepEqual([got, noted], [0.5, 1]);
});

test("[HG7] a fraction undoes a quantile", () => {
  const gapless = fc
    .array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 })
    .map((positiveBuckets) => makeHistogram({ positiveBuckets, schema: 3 }));
  fc.assert(
    fc.property(gapless, unit, (histogram, quantile) => {
      const value = histogramQuantile(quantile, histogram, () => undefined);
      const back = histogramFraction(-infinity, value, histogram, () => undefined);
      assert.ok(Math.abs(back - quantile) < 1e-9, `${quantile} ${value} ${back}`);
    }),
  );
});

const varianceCases: { name: string; of: FloatHistogram; want: number }[] = [
  {
    name: "one bucket around its mean",
    of: makeHistogram({ positiveBuckets: [4], sum: 4 * Math.SQRT2 }),
    want: 0,
  },
  {
    name: "a zero bucket counts as 0",
    of: makeHistogram({ zeroThreshold: 1, zeroCount: 4, sum: 8 }),
    want: 4,
  },
  {
    name: "custom buckets by their middles",
    of: makeCustom([0, 2, 4], [0, 2, 2, 0], { sum: 8 }),
    want: 1,
  },
  {
    name: "both signs",
    of: makeHistogram({ schema: -1, positiveBuckets: [1], negativeBuckets: [1], sum: 0 }),
    want: 4,
  },
];
for (const { name, of, want } of varianceCases) {
  test(`[HG7] variance: ${name}`, () => {
    assert.ok(Math.abs(histogramVariance(of) - want) < 1e-14, `${histogramVariance(of)}`);
  });
}
