import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeHistogram, encodeHistogram } from "./codec.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";
import { histogramFault } from "./validate.ts";

const gap = { offset: -1, length: 1 };
const cases: { of: FloatHistogram; want: RegExp }[] = [
  { of: makeHistogram({ schema: 9 }), want: /invalid schema.* got schema 9$/ },
  { of: makeHistogram({ schema: 0.5 }), want: /invalid schema/ },
  { of: makeHistogram({ count: -1 }), want: /observation count is negative/ },
  { of: makeHistogram({ zeroCount: -2 }), want: /^zero bucket has observation count of -2: / },
  {
    of: makeHistogram({ positiveBuckets: [9, -3] }),
    want: /^positive side: bucket number 2 .* -3: /,
  },
  { of: makeHistogram({ negativeBuckets: [-3] }), want: /^negative side: bucket number 1 / },
  {
    of: makeHistogram({ positiveBuckets: [1], positiveSpans: [] }),
    want: /spans need 0 buckets, have 1/,
  },
  {
    of: makeHistogram({ positiveBuckets: [1, 1], positiveSpans: [gap, gap] }),
    want: /^positive side: span number 2 with offset -1: /,
  },
  {
    of: makeHistogram({
      positiveBuckets: [1],
      positiveSpans: [{ offset: 2 ** 31 - 1, length: 1 }],
    }),
    want: /^positive side: span number 1 with offset 2147483647: .* out of range$/,
  },
  {
    of: makeHistogram({ negativeBuckets: [1], negativeSpans: [{ offset: -(2 ** 31), length: 1 }] }),
    want: /^negative side: span number 1 with offset -2147483648: .* out of range$/,
  },
  { of: makeHistogram({ customValues: [1] }), want: /must not have custom bounds/ },
  { of: makeCustom([1, Number.NaN], [1]), want: /must not be NaN/ },
  { of: makeCustom([2, 1], [1]), want: /previous bound is 2.000000 and current is 1.000000: / },
  { of: makeCustom([1, Number.POSITIVE_INFINITY], [1]), want: /must be finite/ },
  { of: makeCustom([1], [1, 2, 3]), want: /only 1 custom bounds .* total span length of 3: / },
  { of: makeCustom([1], [1], { positiveSpans: [gap] }), want: /offset is negative/ },
  { of: makeCustom([1], [1], { zeroCount: 1 }), want: /zero count of 0/ },
  { of: makeCustom([1], [1], { zeroThreshold: 1 }), want: /zero threshold of 0/ },
  {
    of: makeCustom([1], [1], { negativeSpans: [{ offset: 0, length: 0 }] }),
    want: /negative spans/,
  },
  {
    of: makeCustom([1], [1], { negativeBuckets: [1], negativeSpans: [] }),
    want: /negative buckets/,
  },
];
for (const { of, want } of cases) {
  test(`[HG1] refused: ${want.source}`, () => assert.match(histogramFault(of) ?? "", want));
}

test("[HG1] what makes sense has no fault", () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryExponential(), arbitraryCustom()), (histogram) => {
      assert.equal(histogramFault(histogram), undefined);
    }),
  );
});

test("[HG1] what has no fault can be written and read", () => {
  const offset = fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 30);
  const spans = fc.array(fc.record({ offset, length: fc.nat(2) }, { noNullPrototype: true }), {
    maxLength: 3,
  });
  fc.assert(
    fc.property(
      spans,
      fc.constantFrom(1, NaN, Infinity, 2 ** 60, 0.5, -0),
      (positiveSpans, count) => {
        const total = positiveSpans.reduce((sum, { length }) => sum + length, 0);
        const histogram = makeHistogram({
          positiveSpans,
          positiveBuckets: Array(total).fill(count),
        });
        if (histogramFault(histogram) !== undefined) return;
        assert.deepEqual(decodeHistogram(encodeHistogram(histogram), 0).histogram, histogram);
      },
    ),
  );
});
