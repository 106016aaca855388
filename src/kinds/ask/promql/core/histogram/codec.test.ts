import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeHistogram, encodeHistogram } from "./codec.ts";
import {
  arbitraryCustom,
  arbitraryExponential,
  makeCustom,
  makeHistogram,
} from "./testing/histograms.ts";

const counts = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.double());
const anyHistogram = fc
  .tuple(fc.oneof(arbitraryExponential(counts), arbitraryCustom(counts)), fc.double(), counts)
  .map(([histogram, sum, count]) => ({ ...histogram, sum, count }));

test("[HG9] what is encoded is decoded, wherever it stands", () => {
  fc.assert(
    fc.property(anyHistogram, fc.uint8Array({ maxLength: 3 }), (histogram, prefix) => {
      const encoded = encodeHistogram(histogram);
      const bytes = Uint8Array.of(...prefix, ...encoded, 7);
      const { histogram: decoded, next } = decodeHistogram(bytes, prefix.length);
      assert.deepEqual(decoded, histogram);
      assert.equal(next, prefix.length + encoded.length);
    }),
  );
});

test("[HG9] a view into a larger buffer is read at its own place", () => {
  const encoded = encodeHistogram(makeHistogram({ positiveBuckets: [1.5], sum: 3 }));
  const buffer = new Uint8Array(encoded.length + 20);
  buffer.set(encoded, 11);
  const { histogram } = decodeHistogram(buffer.subarray(9), 2);
  assert.deepEqual([histogram.positiveBuckets, histogram.sum], [[1.5], 3]);
});

test("[HG9] -0 and NaN survive", () => {
  const odd = makeHistogram({ zeroCount: -0, sum: Number.NaN, count: 0 });
  assert.deepEqual(decodeHistogram(encodeHistogram(odd), 0).histogram, odd);
});

test("[HG9] whole counts are small", () => {
  const buckets = Array.from({ length: 100 }, (_, index) => 1_000 + index);
  assert.ok(encodeHistogram(makeHistogram({ positiveBuckets: buckets })).length < 130);
});

test("[HG9] spans and bounds that are the same are shared", () => {
  const first = makeCustom([1, 2], [1, 2, 3]);
  const second = makeCustom([1, 2], [4, 5, 6]);
  const { histogram } = decodeHistogram(encodeHistogram(second), 0, first);
  assert.equal(histogram.positiveSpans, first.positiveSpans);
  assert.equal(histogram.customValues, first.customValues);
  const other = decodeHistogram(encodeHistogram(makeCustom([1], [4, 5])), 0, first).histogram;
  assert.deepEqual([other.customValues, other.positiveBuckets], [[1], [4, 5]]);
});

test("[HG9] sides that do not agree with their spans are not encoded", () => {
  const broken = makeHistogram({ positiveBuckets: [1], positiveSpans: [] });
  assert.throws(() => encodeHistogram(broken), /spans of 0 buckets, but 1/);
  assert.throws(() => encodeHistogram(makeHistogram({ negativeBuckets: [1], negativeSpans: [] })));
});

test("[HG9] bytes cut short are refused", () => {
  fc.assert(
    fc.property(anyHistogram, fc.nat(), (histogram, cut) => {
      const encoded = encodeHistogram(histogram);
      const short = encoded.subarray(0, cut % encoded.length);
      assert.throws(() => decodeHistogram(short, 0), /malformed histogram/);
    }),
  );
});

test("[HG9] any bytes are decoded or refused, quickly and in little memory", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat({ max: 31 }), (bytes, flags) => {
      const tampered = Uint8Array.of(1, flags, ...bytes);
      try {
        const { histogram, next } = decodeHistogram(tampered, 0);
        assert.ok(next <= tampered.length);
        assert.ok(histogram.positiveBuckets.length <= tampered.length);
      } catch (error) {
        assert.match(String(error), /malformed histogram/);
      }
    }),
    { numRuns: 2_000 },
  );
});

const refused = [
  { name: "nothing", bytes: [] },
  { name: "another version", bytes: [2, 0, 0] },
  { name: "unknown flags", bytes: [1, 32, 0] },
  { name: "an unknown schema", bytes: [1, 4, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
  {
    name: "a span of four thousand million buckets",
    bytes: [1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 255, 255, 255, 255, 15],
  },
  { name: "more spans than bytes", bytes: [1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127] },
  { name: "an endless number", bytes: [1, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1] },
];
for (const { name, bytes } of refused) {
  test(`[HG9] ${name}: refused`, () => {
    assert.throws(() => decodeHistogram(Uint8Array.from(bytes), 0), /malformed histogram/);
  });
}
