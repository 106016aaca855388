import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addHistograms } from "./combine.ts";
import { detectReset } from "./detect-reset.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { withStoredHint } from "./stored-hint.ts";
import { arbitraryPair, makeCustom, makeHistogram } from "./testing/histograms.ts";

const before = makeHistogram({ zeroThreshold: 0.5, zeroCount: 2, positiveBuckets: [1, 0, 3] });
const custom = makeCustom([1, 2], [1, 1, 1]);
const sparse = { ...before, positiveSpans: [span(1, 1), span(1, 1)], positiveBuckets: [1, 3] };

const cases: readonly {
  name: string;
  current: FloatHistogram;
  previous: FloatHistogram | undefined;
  want: FloatHistogram["counterResetHint"];
}[] = [
  { name: "nothing before", current: before, previous: undefined, want: "unknown" },
  { name: "the same", current: before, previous: before, want: "not_reset" },
  { name: "a gauge", current: hinted("gauge"), previous: before, want: "gauge" },
  { name: "a gauge, nothing before", current: hinted("gauge"), previous: undefined, want: "gauge" },
  { name: "after a gauge", current: before, previous: hinted("gauge"), want: "unknown" },
  { name: "it says reset", current: hinted("reset"), previous: before, want: "unknown" },
  {
    name: "it says not reset, and was",
    current: { ...hinted("not_reset"), count: 1 },
    previous: before,
    want: "unknown",
  },
  {
    name: "it says not reset, nothing before",
    current: hinted("not_reset"),
    previous: undefined,
    want: "unknown",
  },
  { name: "a lower count", current: { ...before, count: 5 }, previous: before, want: "unknown" },
  {
    name: "a lower zero count",
    current: { ...before, zeroCount: 1 },
    previous: before,
    want: "unknown",
  },
  { name: "another schema", current: { ...before, schema: -1 }, previous: before, want: "unknown" },
  {
    name: "another zero bucket",
    current: { ...before, zeroThreshold: 1 },
    previous: before,
    want: "unknown",
  },
  { name: "an empty bucket is gone", current: sparse, previous: before, want: "not_reset" },
  { name: "a bucket is new", current: before, previous: sparse, want: "not_reset" },
  {
    name: "a bucket fell",
    current: { ...before, positiveBuckets: [2, 0, 2] },
    previous: before,
    want: "unknown",
  },
  {
    name: "the last bucket is gone",
    current: { ...before, positiveSpans: [span(1, 2)], positiveBuckets: [5, 5] },
    previous: before,
    want: "unknown",
  },
  { name: "the same custom buckets", current: custom, previous: custom, want: "not_reset" },
  {
    name: "other custom buckets",
    current: makeCustom([1, 3], [1, 1, 1]),
    previous: custom,
    want: "unknown",
  },
];
for (const { name, current, previous, want } of cases) {
  test(`${name}: ${want}`, () => {
    assert.deepEqual(withStoredHint(current, previous), { ...current, counterResetHint: want });
  });
}

test("what is said not to be reset is not reset by its counts", () => {
  fc.assert(
    fc.property(arbitraryPair(), ([previous, more]) => {
      const sum = addHistograms(previous, more);
      assert(sum !== "incompatible");
      for (const current of [sum.result, more]) {
        const { counterResetHint } = withStoredHint(current, previous);
        if (counterResetHint !== "not_reset") continue;
        assert(!detectReset({ ...current, counterResetHint: "unknown" }, previous));
      }
    }),
  );
});

function hinted(counterResetHint: FloatHistogram["counterResetHint"]): FloatHistogram {
  return { ...before, counterResetHint };
}

function span(offset: number, length: number): FloatHistogram["positiveSpans"][number] {
  return { offset, length };
}
