import assert from "node:assert/strict";
import { test } from "node:test";
import { equalsHistogram, nearlyEqual, nearlyEqualsHistogram } from "./equality.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { makeCustom, makeHistogram } from "./testing/histograms.ts";

const histogram = makeHistogram({ positiveBuckets: [1, 2], sum: Number.NaN });
const cases: { name: string; other: FloatHistogram; want: boolean }[] = [
  { name: "itself", other: { ...histogram }, want: true },
  { name: "another hint", other: { ...histogram, counterResetHint: "gauge" }, want: true },
  { name: "another sum", other: { ...histogram, sum: 1 }, want: false },
  { name: "another bucket", other: { ...histogram, positiveBuckets: [1, 3] }, want: false },
  { name: "another zero bucket", other: { ...histogram, zeroThreshold: 1 }, want: false },
  { name: "a negative zero", other: { ...histogram, zeroCount: -0 }, want: false },
  {
    name: "one more bucket, which is empty",
    other: { ...histogram, positiveSpans: [{ offset: 1, length: 3 }], positiveBuckets: [1, 2, 0] },
    want: false,
  },
  {
    name: "a run without buckets",
    other: {
      ...histogram,
      positiveSpans: [
        { offset: -1, length: 0 },
        { offset: 2, length: 2 },
        { offset: 9, length: 0 },
      ],
    },
    want: true,
  },
];
for (const { name, other, want } of cases) {
  test(`[HG2] equality: ${name}`, () => {
    assert.equal(equalsHistogram(histogram, other), want);
    assert.equal(equalsHistogram(other, histogram), want);
  });
}

test("[HG2] equality of custom buckets is also that of their bounds", () => {
  assert.equal(equalsHistogram(makeCustom([1], [1, 2]), makeCustom([1], [1, 2])), true);
  assert.equal(equalsHistogram(makeCustom([1], [1, 2]), makeCustom([2], [1, 2])), false);
});

test("[HG2] nearly equal: relative to the sum of both", () => {
  assert.ok(nearlyEqual(1, 1 + 1e-7, 1e-6));
  assert.ok(!nearlyEqual(1, 1 + 1e-5, 1e-6));
  assert.ok(!nearlyEqual(0, 1e-300, 1e-6));
  assert.ok(nearlyEqual(Number.NaN, Number.NaN, 0));
  const near = { ...histogram, positiveBuckets: [1, 2 + 1e-9] };
  assert.ok(nearlyEqualsHistogram(histogram, near, 1e-6));
});
