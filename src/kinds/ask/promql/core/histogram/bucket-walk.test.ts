import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bucketBound, exponentialBound } from "./bounds.ts";
import { type BucketOrder, BucketWalk, populatedBuckets } from "./bucket-walk.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";

function walked(histogram: FloatHistogram, order: BucketOrder): [number, number, number][] {
  const buckets: [number, number, number][] = [];
  const walk = new BucketWalk(histogram, order);
  while (walk.next()) buckets.push([walk.lower, walk.upper, walk.count]);
  return buckets;
}

const histogram = makeHistogram({
  zeroThreshold: 0.75,
  zeroCount: 9,
  positiveSpans: [
    { offset: 0, length: 1 },
    { offset: 1, length: 1 },
  ],
  positiveBuckets: [1, 2], // (0.5, 1] and (2, 4].
  negativeBuckets: [3],
});

test("[HG6] one side is walked away from zero, as it is", () => {
  assert.deepEqual(walked(histogram, "positive"), [
    [0.5, 1, 1],
    [2, 4, 2],
  ]);
  assert.deepEqual(walked(histogram, "negative"), [[-2, -1, 3]]);
});

test("[HG6] all are walked in order, and cut at the zero bucket", () => {
  const all = [
    [-2, -1, 3],
    [-0.75, 0.75, 9],
    [0.75, 1, 1],
    [2, 4, 2],
  ];
  assert.deepEqual(walked(histogram, "ascending"), all);
  assert.deepEqual(walked(histogram, "descending"), all.toReversed());
});

test("[HG6] both directions see the same buckets", () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryExponential(), arbitraryCustom()), (any) => {
      assert.deepEqual(walked(any, "ascending"), walked(any, "descending").toReversed());
    }),
  );
});

test("[HG6] which bounds belong to a bucket", () => {
  const inclusions = (of: FloatHistogram): string[] =>
    populatedBuckets(of).map(
      ({ lower, upper, lowerInclusive, upperInclusive }) =>
        `${lowerInclusive ? "[" : "("}${lower},${upper}${upperInclusive ? "]" : ")"}`,
    );
  assert.deepEqual(inclusions(histogram), ["[-2,-1)", "[-0.75,0.75]", "(0.75,1]", "(2,4]"]);
  assert.deepEqual(inclusions(makeCustom([1, 2], [1, 0, 1])), ["[-Infinity,1]", "(2,Infinity]"]);
});

const boundCases: [index: number, schema: number, want: number][] = [
  [0, 0, 1],
  [1, 0, 2],
  [-3, 0, 0.125],
  [1, -4, 65_536],
  [-1, 1, 0.7071067811865475],
  [5, 8, 1.0136300849514894],
  [1_024, 0, Number.MAX_VALUE],
  [1_025, 0, Number.POSITIVE_INFINITY],
  [64, -4, Number.MAX_VALUE],
  [65, -4, Number.POSITIVE_INFINITY],
  [-1_074, 0, Number.MIN_VALUE],
  [-1_075, 0, 0],
];
for (const [index, schema, want] of boundCases) {
  test(`[HG6] bucket ${index} of schema ${schema} ends at ${want}`, () => {
    assert.equal(exponentialBound(index, schema), want);
  });
}

test("[HG6] bounds of a schema are bounds of every finer one", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -4, max: 7 }),
      fc.integer({ min: -60, max: 60 }),
      (schema, index) => {
        assert.equal(exponentialBound(index, schema), exponentialBound(index * 2, schema + 1));
        assert.ok(exponentialBound(index, schema) < exponentialBound(index + 1, schema));
      },
    ),
  );
});

test("[HG6] custom bounds, and what is before and after them", () => {
  const bounds = [-1, 0, 1, 2].map((index) => bucketBound(index, -53, [10, 20]));
  assert.deepEqual(bounds, [-Infinity, 10, 20, Infinity]);
});
