import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HistogramAccumulator } from "./accumulator.ts";
import { populatedBuckets } from "./bucket-walk.ts";
import { decodeHistogram, encodeHistogram } from "./codec.ts";
import { addHistograms, subHistograms } from "./combine.ts";
import { detectReset } from "./detect-reset.ts";
import type { FloatHistogram } from "./float-histogram.ts";
import { histogramFraction, histogramQuantile, histogramVariance } from "./quantile.ts";
import { compactHistogram, reduceResolution } from "./scale.ts";
import { makeHistogram } from "./testing/histograms.ts";
import { histogramToText } from "./text.ts";
import { trimHistogram } from "./trim.ts";

/** Only spans and buckets agree, because every reader checks that. Other values are arbitrary. */
const strange = fc.double();
const side = fc
  .array(fc.record({ offset: fc.integer(), buckets: fc.array(strange, { maxLength: 3 }) }), {
    maxLength: 3,
  })
  .map((runs) => ({
    spans: runs.map(({ offset, buckets }) => ({ offset, length: buckets.length })),
    buckets: runs.flatMap(({ buckets }) => buckets),
  }));
const hostile = fc
  .record({
    schema: fc.integer({ min: -4, max: 8 }),
    zeroThreshold: strange,
    zeroCount: strange,
    count: strange,
    sum: strange,
    positive: side,
    negative: side,
  })
  .map(({ positive, negative, ...rest }) =>
    makeHistogram({
      ...rest,
      positiveSpans: positive.spans,
      positiveBuckets: positive.buckets,
      negativeSpans: negative.spans,
      negativeBuckets: negative.buckets,
    }),
  );

function useEverywhere(a: FloatHistogram, b: FloatHistogram, value: number): void {
  addHistograms(a, b);
  subHistograms(a, b);
  detectReset(a, b);
  histogramQuantile(value, a, () => undefined);
  histogramFraction(value, a.sum, a, () => undefined);
  histogramVariance(a);
  trimHistogram(a, value, "below");
  trimHistogram(a, value, "above");
  histogramToText(a);
  compactHistogram(a);
  populatedBuckets(a);
  if (a.schema > -4) reduceResolution(a, -4);
  const accumulator = new HistogramAccumulator("mean");
  for (const histogram of [a, b, a]) accumulator.add(histogram);
  accumulator.finish();
}

test("[HG1] what makes no sense neither hangs nor throws", { timeout: 240_000 }, () => {
  fc.assert(
    fc.property(hostile, hostile, strange, (a, b, value) => {
      useEverywhere(a, b, value);
    }),
    { numRuns: 300 },
  );
});

test("[HG9] what makes no sense is refused, or comes back as it is", () => {
  fc.assert(
    fc.property(hostile, (histogram) => {
      let bytes: Uint8Array;
      try {
        bytes = encodeHistogram(histogram);
      } catch (error) {
        assert.match(String(error), /malformed histogram/);
        return;
      }
      assert.deepEqual(decodeHistogram(bytes, 0).histogram, histogram);
    }),
  );
});
