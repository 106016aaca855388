/** Short notations of series for tests. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { Labels } from "../labels.ts";
import type { RawSeries } from "../model.ts";

/** Undefined means no sample at that time; `"stale"` ends the series. */
export type TestPoint = number | FloatHistogram | "stale" | undefined;

/** The points are at 0, `stepMs`, and so on. */
export function rawSeries(
  labels: Readonly<Record<string, string>>,
  points: readonly TestPoint[],
  stepMs = 60_000,
): RawSeries {
  const present = points.flatMap((point, index) => (point === undefined ? [] : [{ point, index }]));
  const histograms = present.map(({ point }) => (typeof point === "object" ? point : undefined));
  const stale = Uint8Array.from(present, ({ point }) => (point === "stale" ? 1 : 0));
  return {
    labels: Labels.of(labels),
    samples: {
      count: present.length,
      ts: Float64Array.from(present, ({ index }) => index * stepMs),
      values: Float64Array.from(present, ({ point }) => (typeof point === "number" ? point : 0)),
      stale: stale.includes(1) ? stale : undefined,
      histograms: histograms.some((one) => one !== undefined) ? histograms : undefined,
      startTs: undefined,
    },
  };
}

/** A histogram of schema 0 with these buckets from 1 upwards. */
export function testHistogram(
  buckets: readonly number[],
  more: Partial<FloatHistogram> = {},
): FloatHistogram {
  const count = buckets.reduce((sum, bucket) => sum + bucket, 0);
  return {
    counterResetHint: "unknown",
    schema: 0,
    zeroThreshold: 0.001,
    zeroCount: 0,
    count,
    sum: count * 2,
    positiveSpans: buckets.length === 0 ? [] : [{ offset: 0, length: buckets.length }],
    positiveBuckets: buckets,
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
    ...more,
  };
}
