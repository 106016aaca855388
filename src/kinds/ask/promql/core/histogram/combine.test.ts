import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HistogramAccumulator } from "./accumulator.ts";
import { addHistograms, type Combined, subHistograms } from "./combine.ts";
import type { CounterResetHint, FloatHistogram } from "./float-histogram.ts";
import { compactHistogram } from "./scale.ts";
import { arbitraryPair, makeCustom, makeHistogram } from "./testing/histograms.ts";

function combined(result: ReturnType<typeof addHistograms>): Combined {
  assert(result !== "incompatible");
  return result;
}

function sumOf(a: FloatHistogram, b: FloatHistogram): FloatHistogram {
  return compactHistogram(combined(addHistograms(a, b)).result);
}

test("[HG1] exponential and custom buckets do not combine", () => {
  const exponential = makeHistogram({ positiveBuckets: [1] });
  const custom = makeCustom([1], [1]);
  assert.equal(addHistograms(exponential, custom), "incompatible");
  assert.equal(subHistograms(custom, exponential), "incompatible");
});

test("[HG2] buckets of both are kept, wherever they are", () => {
  const a = makeHistogram({
    positiveSpans: [
      { offset: -1, length: 2 },
      { offset: 3, length: 1 },
    ],
    positiveBuckets: [1, 2, 3],
    sum: 5,
  });
  const b = makeHistogram({
    positiveSpans: [{ offset: 0, length: 3 }],
    positiveBuckets: [10, 20, 30],
    negativeBuckets: [7],
    sum: -1,
  });
  const sum = sumOf(a, b);
  assert.deepEqual(sum.positiveSpans, [
    { offset: -1, length: 4 },
    { offset: 1, length: 1 },
  ]);
  assert.deepEqual(sum.positiveBuckets, [1, 12, 20, 30, 3]);
  assert.deepEqual(sum.negativeBuckets, [7]);
  assert.equal(sum.count, 73);
  assert.equal(sum.sum, 4);
});

test("[HG2] the result is in the coarser schema", () => {
  // Schema 1 has two buckets where schema 0 has one: (1, 1.41] and (1.41, 2] are (1, 2].
  const fine = makeHistogram({ schema: 1, positiveBuckets: [1, 2, 4] });
  const coarse = makeHistogram({ positiveBuckets: [8] });
  for (const sum of [sumOf(fine, coarse), sumOf(coarse, fine)]) {
    assert.equal(sum.schema, 0);
    assert.deepEqual(sum.positiveSpans, [{ offset: 1, length: 2 }]);
    assert.deepEqual(sum.positiveBuckets, [11, 4]);
  }
});

test("[HG2] the wider zero bucket swallows buckets of the other", () => {
  const wide = makeHistogram({
    zeroThreshold: 2,
    zeroCount: 1,
    positiveSpans: [],
    positiveBuckets: [],
  });
  // (1, 2], (2, 4] and, below zero, [-2, -1).
  const narrow = makeHistogram({ zeroCount: 5, positiveBuckets: [10, 20], negativeBuckets: [30] });
  for (const sum of [sumOf(wide, narrow), sumOf(narrow, wide)]) {
    assert.equal(sum.zeroThreshold, 2);
    assert.equal(sum.zeroCount, 46);
    assert.deepEqual(sum.positiveSpans, [{ offset: 2, length: 1 }]);
    assert.deepEqual(sum.positiveBuckets, [20]);
    assert.deepEqual(sum.negativeBuckets, []);
  }
});

test("[HG2] a zero bucket that ends within a populated bucket grows to its end", () => {
  const wide = makeHistogram({ zeroThreshold: 1.5, zeroCount: 1 });
  const narrow = makeHistogram({ positiveBuckets: [10, 20] });
  const sum = sumOf(wide, narrow);
  assert.equal(sum.zeroThreshold, 2);
  assert.equal(sum.zeroCount, 11);
  assert.deepEqual(sum.positiveBuckets, [20]);
});

test("[HG2] a threshold that is no number, or infinite, does no harm", () => {
  const narrow = makeHistogram({ positiveBuckets: [10, 20], negativeBuckets: [5] });
  const nan = makeHistogram({ zeroThreshold: Number.NaN, zeroCount: 1, positiveBuckets: [1] });
  const infinite = makeHistogram({ zeroThreshold: Number.POSITIVE_INFINITY, zeroCount: 1 });
  for (const [a, b] of [
    [nan, narrow],
    [narrow, nan],
    [nan, nan],
  ] as const) {
    assert.equal(sumOf(a, b).count, a.count + b.count);
    const accumulator = new HistogramAccumulator("sum");
    accumulator.add(a);
    accumulator.add(b);
    assert.equal(accumulator.finish()?.count, a.count + b.count);
  }
  assert.equal(sumOf(narrow, infinite).zeroCount, 36);
});

test("[HG2] different custom buckets are reconciled, and the result says so", () => {
  const a = makeCustom([1, 2, 3], [1, 2, 4, 8]);
  const b = makeCustom([1, 3, 5], [10, 20, 40, 80]);
  const { result, boundsReconciled } = combined(addHistograms(a, b));
  assert.equal(boundsReconciled, true);
  assert.deepEqual(result.customValues, [1, 3]);
  assert.deepEqual(result.positiveBuckets, [11, 26, 128]);
  assert.equal(combined(addHistograms(a, a)).boundsReconciled, false);
  const disjoint = combined(addHistograms(a, makeCustom([7], [1, 1]))).result;
  assert.deepEqual([disjoint.customValues, disjoint.positiveBuckets], [[], [17]]);
});

const hintCases: [CounterResetHint, CounterResetHint, CounterResetHint, boolean][] = [
  ["reset", "reset", "reset", false],
  ["not_reset", "not_reset", "not_reset", false],
  ["gauge", "reset", "gauge", false],
  ["not_reset", "gauge", "gauge", false],
  ["unknown", "reset", "unknown", false],
  ["not_reset", "unknown", "unknown", false],
  ["reset", "not_reset", "unknown", true],
  ["not_reset", "reset", "unknown", true],
];
for (const [left, right, want, collides] of hintCases) {
  test(`[HG3] ${left} and ${right} make ${want}`, () => {
    const a = makeHistogram({ counterResetHint: left });
    const b = makeHistogram({ counterResetHint: right });
    for (const combine of [addHistograms, subHistograms]) {
      const { result, counterResetCollision } = combined(combine(a, b));
      assert.equal(result.counterResetHint, want);
      assert.equal(counterResetCollision, collides);
    }
  });
}

// Whole counts, so that sums are exact in any order.
const pairs = arbitraryPair();

test("[HG2] addition commutes", () => {
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      assert.deepEqual(sumOf(a, b), sumOf(b, a));
    }),
  );
});

const observationsOf = (h: FloatHistogram): number =>
  [...h.positiveBuckets, ...h.negativeBuckets].reduce((a, b) => a + b, h.zeroCount);

test("[HG2] nothing is lost: the buckets of a sum count what both count", () => {
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      assert.equal(observationsOf(sumOf(a, b)), observationsOf(a) + observationsOf(b));
    }),
  );
});

test("[HG2] what was added is subtracted again", () => {
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      const sum = combined(addHistograms(a, b)).result;
      const back = combined(subHistograms(sum, b)).result;
      assert.equal(back.count, a.count);
      assert.equal(back.sum, a.sum);
      assert.equal(observationsOf(back), observationsOf(a));
      assert.ok(back.positiveBuckets.every((count) => count >= 0));
    }),
  );
});
