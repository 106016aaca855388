import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  compactHistogram,
  copyToSchema,
  divideHistogram,
  reduceResolution,
  scaleHistogram,
} from "./scale.ts";
import { arbitraryExponential, makeCustom, makeHistogram } from "./testing/histograms.ts";

const histogram = makeHistogram({
  counterResetHint: "not_reset",
  sum: 6,
  zeroCount: 2,
  positiveBuckets: [4, 8],
  negativeBuckets: [2],
});

test("[HG3] scaling by something negative makes a gauge", () => {
  const scaled = scaleHistogram(histogram, -0.5);
  assert.equal(scaled.counterResetHint, "gauge");
  assert.deepEqual(scaled.positiveBuckets, [-2, -4]);
  assert.equal(scaleHistogram(histogram, 2).counterResetHint, "not_reset");
  assert.equal(divideHistogram(histogram, -2).counterResetHint, "gauge");
});

test("[HG2] division by zero leaves no buckets", () => {
  const divided = divideHistogram(histogram, 0);
  assert.equal(divided.count, Number.POSITIVE_INFINITY);
  assert.deepEqual([divided.positiveBuckets, divided.positiveSpans], [[], []]);
  assert.deepEqual([divided.negativeBuckets, divided.negativeSpans], [[], []]);
});

test("[HG2] compacting removes empty buckets", () => {
  const loose = makeHistogram({
    positiveSpans: [
      { offset: 1, length: 4 },
      { offset: 0, length: 0 },
      { offset: 2, length: 2 },
    ],
    positiveBuckets: [0, 1, 0, 2, 3, 0],
  });
  const compact = compactHistogram(loose);
  assert.deepEqual(compact.positiveBuckets, [1, 2, 3]);
  assert.deepEqual(compact.positiveSpans, [
    { offset: 2, length: 1 },
    { offset: 1, length: 1 },
    { offset: 2, length: 1 },
  ]);
  assert.equal(compactHistogram(compact), compact);
});

test("[HG2] a coarser schema merges buckets and keeps their counts", () => {
  const fine = makeHistogram({
    schema: 2,
    positiveSpans: [
      { offset: -3, length: 4 },
      { offset: 5, length: 1 },
    ],
    positiveBuckets: [1, 2, 4, 8, 16],
  });
  const coarse = reduceResolution(fine, 0);
  assert.deepEqual(coarse.positiveSpans, [
    { offset: 0, length: 1 },
    { offset: 1, length: 1 },
  ]);
  assert.deepEqual(coarse.positiveBuckets, [15, 16]);
  assert.equal(copyToSchema({ ...fine, counterResetHint: "reset" }, 0).counterResetHint, "unknown");
  assert.equal(copyToSchema(fine, 2), fine);
  assert.throws(() => reduceResolution(fine, 2));
  assert.throws(() => reduceResolution(makeCustom([1], [1]), 0));
});

test("[HG2] reducing at once or in two steps is the same", () => {
  fc.assert(
    fc.property(arbitraryExponential(), (fine) => {
      fc.pre(fine.schema >= -2);
      const twice = reduceResolution(reduceResolution(fine, fine.schema - 1), fine.schema - 2);
      assert.deepEqual(reduceResolution(fine, fine.schema - 2), twice);
    }),
  );
});
