import assert from "node:assert/strict";
import { test } from "node:test";
import { rawSeries, testHistogram } from "../testing/raw-series.ts";
import { withHistogramStats } from "./histogram-stats.ts";

test("[PE11] buckets go, and what they say of resets is in the hints", () => {
  const { samples } = rawSeries({}, [
    testHistogram([1, 2]),
    testHistogram([2, 2]),
    7,
    testHistogram([3, 1]),
    "stale",
    testHistogram([9, 9], { counterResetHint: "gauge" }),
  ]);
  const { histograms = [] } = withHistogramStats(samples);
  assert.deepEqual(
    histograms.map((one) => one && [one.count, one.positiveBuckets.length, one.counterResetHint]),
    [
      [3, 0, "unknown"],
      [4, 0, "not_reset"],
      undefined,
      [4, 0, "reset"],
      undefined,
      [18, 0, "gauge"],
    ],
  );
});

test("[PE11] doing it twice changes nothing", () => {
  const { samples } = rawSeries({}, [testHistogram([1, 2]), testHistogram([2, 1])]);
  const once = withHistogramStats(samples);
  assert.deepEqual(withHistogramStats(once), once);
});
