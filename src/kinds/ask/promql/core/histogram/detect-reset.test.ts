import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addHistograms } from "./combine.ts";
import { detectReset } from "./detect-reset.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { arbitraryPair, makeCustom, makeHistogram } from "./testing/histograms.ts";

const before = makeHistogram({ zeroThreshold: 0.5, zeroCount: 2, positiveBuckets: [1, 0, 3] });

const cases: { name: string; current: FloatHistogram; previous?: FloatHistogram; want: boolean }[] =
  [
    { name: "the same", current: before, want: false },
    { name: "it says so", current: { ...before, counterResetHint: "reset" }, want: true },
    {
      name: "it says not so",
      current: { ...before, count: 0, counterResetHint: "not_reset" },
      want: false,
    },
    { name: "a lower count", current: { ...before, count: 5 }, want: true },
    { name: "a lower zero count", current: { ...before, zeroCount: 1 }, want: true },
    { name: "a lower bucket", current: { ...before, positiveBuckets: [2, 0, 2] }, want: true },
    { name: "a higher bucket", current: { ...before, positiveBuckets: [2, 1, 3] }, want: false },
    {
      name: "an empty bucket is gone",
      current: {
        ...before,
        positiveSpans: [
          { offset: 1, length: 1 },
          { offset: 1, length: 1 },
        ],
        positiveBuckets: [1, 3],
      },
      want: false,
    },
    {
      name: "a populated bucket is gone",
      current: { ...before, positiveSpans: [{ offset: 1, length: 2 }], positiveBuckets: [5, 5] },
      want: true,
    },
    {
      name: "all buckets are gone",
      current: { ...before, positiveSpans: [], positiveBuckets: [] },
      want: true,
    },
    { name: "a finer schema", current: { ...before, schema: 1 }, want: true },
    {
      name: "a coarser schema with the same observations",
      current: { ...before, schema: -1, positiveBuckets: [1, 3] },
      want: false,
    },
    {
      name: "a coarser schema with fewer observations in a bucket",
      current: { ...before, schema: -1, positiveBuckets: [1, 2], zeroCount: 3 },
      want: true,
    },
    { name: "a narrower zero bucket", current: { ...before, zeroThreshold: 0.25 }, want: true },
    {
      name: "a wider zero bucket that swallowed a bucket",
      current: {
        ...before,
        zeroThreshold: 2,
        zeroCount: 3,
        positiveSpans: [{ offset: 2, length: 2 }],
        positiveBuckets: [0, 3],
      },
      want: false,
    },
    {
      name: "a wider zero bucket that ends within a populated one",
      current: { ...before, zeroThreshold: 1.5, zeroCount: 9 },
      want: true,
    },
    {
      name: "a zero bucket of no width that makes sense",
      current: { ...before, zeroThreshold: Number.NaN },
      want: true,
    },
    { name: "custom after exponential", current: makeCustom([1], [9, 9]), want: true },
    {
      name: "custom buckets that differ, reconciled, did not fall",
      previous: makeCustom([1, 2, 3], [1, 2, 3, 4]),
      current: makeCustom([1, 3], [1, 5, 4]),
      want: false,
    },
    {
      name: "custom buckets that differ, reconciled, fell",
      previous: makeCustom([1, 2, 3], [1, 2, 3, 4]),
      current: makeCustom([1, 3], [2, 4, 4]),
      want: true,
    },
  ];
for (const { name, current, previous = before, want } of cases) {
  test(`[HG5] ${name}: ${want ? "a reset" : "no reset"}`, () => {
    assert.equal(detectReset(current, previous), want);
  });
}

test("[HG5] a counter to which something was added was not reset", () => {
  fc.assert(
    fc.property(arbitraryPair(), ([previous, more]) => {
      const sum = addHistograms(previous, more);
      assert(sum !== "incompatible");
      assert.equal(detectReset({ ...sum.result, counterResetHint: "unknown" }, previous), false);
    }),
  );
});
