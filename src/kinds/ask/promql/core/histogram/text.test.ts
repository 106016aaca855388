import assert from "node:assert/strict";
import { test } from "node:test";
import type { FloatHistogram } from "./float-histogram.ts";
import { makeCustom, makeHistogram } from "./testing/histograms.ts";
import { histogramToText } from "./text.ts";

const histogram = makeHistogram({
  counterResetHint: "gauge",
  schema: 1,
  zeroThreshold: 0.001,
  zeroCount: 2,
  sum: 18.4,
  positiveSpans: [
    { offset: 0, length: 1 },
    { offset: 2, length: 2 },
  ],
  positiveBuckets: [1, 0, 2.5],
  negativeBuckets: [3, 1_000_000],
});

const cases: { of: FloatHistogram; text: string }[] = [
  { of: makeHistogram({}), text: "{count:0, sum:0}" },
  {
    of: histogram,
    text:
      "{count:1.0000085e+06, sum:18.4, [-2,-1.414213562373095):1e+06, [-1.414213562373095,-1):3, " +
      "[-0.001,0.001]:2, (0.7071067811865475,1]:1, (2.82842712474619,4]:2.5}",
  },
  {
    of: makeCustom([-1, 2.5], [1, 0, 2], { sum: Number.NaN }),
    text: "{count:3, sum:NaN, [-Inf,-1]:1, (2.5,+Inf]:2}",
  },
];
for (const { of, text } of cases) {
  test(`[HG2] as text: ${text}`, () => {
    assert.equal(histogramToText(of), text);
  });
}
