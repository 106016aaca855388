import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HistogramAccumulator } from "./accumulator.ts";
import { addHistograms } from "./combine.ts";
import { nearlyEqualsHistogram } from "./equality.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { compactHistogram, divideHistogram } from "./scale.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";

function accumulated(kind: "sum" | "mean", histograms: readonly FloatHistogram[]): FloatHistogram {
  const accumulator = new HistogramAccumulator(kind);
  for (const histogram of histograms) assert.ok(accumulator.add(histogram));
  return compactHistogram(accumulator.finish() as FloatHistogram);
}

test("[HG4] what rounding loses is added in the end", () => {
  const histograms = [1e100, 1, -1e100, 1].map((value) =>
    makeHistogram({ sum: value, positiveBuckets: [value], zeroCount: value }),
  );
  const sum = accumulated("sum", histograms);
  assert.equal(sum.sum, 2);
  assert.deepEqual(sum.positiveBuckets, [2]);
  assert.equal(sum.zeroCount, 2);
  assert.equal(accumulated("mean", histograms).sum, 0.5);
});

test("[HG4] a mean exists even where the sum would overflow", () => {
  const huge = makeHistogram({ sum: 1.5e308, positiveBuckets: [4], count: 4 });
  const mean = accumulated("mean", [huge, huge, huge]);
  assert.ok(Math.abs(mean.sum / 1.5e308 - 1) < 1e-15);
  assert.deepEqual(mean.positiveBuckets, [4]);
  assert.equal(accumulated("sum", [huge, huge]).sum, Number.POSITIVE_INFINITY);
});

test("[HG4] exponential and custom buckets have no sum", () => {
  const accumulator = new HistogramAccumulator("sum");
  assert.equal(accumulator.finish(), undefined);
  assert.equal(accumulator.add(makeHistogram({ positiveBuckets: [1] })), true);
  assert.equal(accumulator.add(makeCustom([1], [1])), false);
});

test("[HG4] collisions and reconciled bounds are remembered", () => {
  const accumulator = new HistogramAccumulator("mean");
  accumulator.add(makeCustom([1, 2], [1, 1, 1], { counterResetHint: "reset" }));
  assert.equal(accumulator.counterResetCollision, false);
  accumulator.add(makeCustom([2], [1, 1], { counterResetHint: "not_reset" }));
  assert.equal(accumulator.counterResetCollision, true);
  assert.equal(accumulator.boundsReconciled, true);
  assert.equal(accumulator.added, 2);
});

test("[HG4] a sum or mean of many is near that of adding one after another", () => {
  const lists = fc.oneof(
    fc.array(arbitraryExponential(fc.double({ min: 0, max: 1e6, noNaN: true })), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.array(arbitraryCustom(), { minLength: 1, maxLength: 5 }),
  );
  fc.assert(
    fc.property(lists, (histograms) => {
      let sum = histograms[0] as FloatHistogram;
      for (const histogram of histograms.slice(1)) {
        const next = addHistograms(sum, histogram);
        assert(next !== "incompatible");
        sum = next.result;
      }
      const before = structuredClone(histograms);
      const got = accumulated("sum", histograms);
      assert.ok(nearlyEqualsHistogram(got, compactHistogram(sum), 1e-9));
      const mean = compactHistogram(divideHistogram(sum, histograms.length));
      assert.ok(nearlyEqualsHistogram(accumulated("mean", histograms), mean, 1e-9));
      assert.deepEqual(histograms, before, "arguments are left alone");
    }),
  );
});
