import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TopHeaps } from "./top-heap.ts";

const value = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constant(Number.NaN));

test("[PE17] the k best are kept, NaN being worse than anything, best first", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(value, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 25 }),
      fc.boolean(),
      (values, k, greatest) => {
        const heaps = new TopHeaps(1, Math.min(k, values.length), greatest);
        for (const [member, one] of values.entries()) {
          heaps.offer(0, Math.min(k, values.length), one, member);
        }
        const rank = (one: number): number =>
          Number.isNaN(one) ? Number.NEGATIVE_INFINITY : one * (greatest ? 1 : -1);
        const want = values.toSorted((a, b) => rank(b) - rank(a)).slice(0, k);
        assert.deepEqual(
          heaps.best(0).map((member) => values[member]),
          want,
        );
      },
    ),
  );
});

test("[PE17] of equal samples those stay that Go's heap would keep", () => {
  // The first two fill the heap; the third replaces the root.
  const heaps = new TopHeaps(1, 2, true);
  for (const [member, one] of [1, 1, 2].entries()) heaps.offer(0, 2, one, member);
  assert.deepEqual(heaps.best(0), [2, 1]);
});
