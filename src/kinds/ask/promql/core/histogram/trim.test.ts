import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nearlyEqual } from "./equality.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";
import { type TrimKeep, trimHistogram } from "./trim.ts";

const histogram = makeHistogram({
  zeroThreshold: 1,
  zeroCount: 4,
  positiveBuckets: [4, 8], // (1, 2] and (2, 4].
  negativeBuckets: [2],
  sum: 99,
});
const custom = makeCustom([1, 3], [2, 4, 8], { sum: 99 });
const infinity = Number.POSITIVE_INFINITY;

interface Case {
  readonly name: string;
  readonly of: FloatHistogram;
  readonly at: number;
  readonly keep: TrimKeep;
  readonly want: Partial<FloatHistogram>;
}
const cases: Case[] = [
  {
    name: "nothing trimmed: the sum stays",
    of: histogram,
    at: 4,
    keep: "below",
    want: { sum: 99 },
  },
  {
    name: "whole buckets go, and the sum is estimated",
    of: histogram,
    at: 2,
    keep: "below",
    want: { positiveBuckets: [4], zeroCount: 4, count: 10, sum: 4 * Math.SQRT2 - 2 * Math.SQRT2 },
  },
  {
    name: "a bucket is cut on a logarithmic scale",
    of: histogram,
    at: Math.SQRT2 * 2,
    keep: "above",
    want: { positiveBuckets: [4], zeroCount: 0, negativeBuckets: [], count: 4 },
  },
  {
    name: "the zero bucket is cut linearly",
    of: histogram,
    at: 0.5,
    keep: "below",
    want: { zeroCount: 3, positiveBuckets: [], negativeBuckets: [2], count: 5 },
  },
  {
    name: "custom buckets are cut linearly",
    of: custom,
    at: 2,
    keep: "below",
    want: { positiveBuckets: [2, 2], count: 4, sum: 4 },
  },
  {
    name: "the first custom bucket begins at 0",
    of: custom,
    at: 0.5,
    keep: "below",
    want: { positiveBuckets: [1], count: 1, sum: 0.25 },
  },
  {
    name: "the last custom bucket is not below anything",
    of: custom,
    at: 100,
    keep: "below",
    want: { positiveBuckets: [2, 4], count: 6, sum: 9 },
  },
  {
    name: "the last custom bucket may be above everything",
    of: custom,
    at: 100,
    keep: "above",
    want: { positiveBuckets: [8], count: 8, sum: 800 },
  },
];
for (const { name, of, at, keep, want } of cases) {
  test(`[HG8] ${name}`, () => {
    const got = trimHistogram(of, at, keep);
    for (const [field, value] of Object.entries(want)) {
      const found = got[field as keyof FloatHistogram];
      if (typeof value === "number")
        assert.ok(nearlyEqual(found as number, value, 1e-14), `${found}`);
      else
        assert.deepEqual(
          (found as number[]).map((count) => Math.round(count * 1e9) / 1e9),
          value,
        );
    }
  });
}

test("[HG8] the halves are the whole, and the argument is left alone", () => {
  const any = fc.oneof(
    arbitraryExponential().filter(({ zeroThreshold }) => zeroThreshold > 0),
    arbitraryCustom(),
  );
  const finite = (h: FloatHistogram): boolean => h.customValues.length > 0 || h.schema > -53;
  fc.assert(
    fc.property(any, fc.double({ min: -20, max: 20, noNaN: true }), (whole, at) => {
      const before = structuredClone(whole);
      const below = trimHistogram(whole, at, "below");
      const above = trimHistogram(whole, at, "above");
      assert.deepEqual(whole, before);
      for (const part of [below, above]) {
        assert.ok([part.zeroCount, ...part.positiveBuckets].every((count) => count >= -1e-9));
      }
      if (whole.schema > -53 && finite(whole)) {
        assert.ok(Math.abs(below.count + above.count - whole.count) < 1e-6);
      }
    }),
  );
});

test("[HG8] infinities keep everything or nothing", () => {
  assert.equal(trimHistogram(histogram, infinity, "below"), histogram);
  assert.equal(trimHistogram(histogram, -infinity, "above"), histogram);
  assert.equal(trimHistogram(histogram, infinity, "above").count, 0);
  assert.equal(trimHistogram(histogram, -infinity, "below").count, 0);
});
