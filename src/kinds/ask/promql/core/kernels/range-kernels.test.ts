import assert from "node:assert/strict";
import { test } from "node:test";
import { PromqlError } from "../engine-types.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { boundsError, kernelKeepsName, rangeKernels } from "./range-kernels.ts";
import { type Asked, custom, exponential, oneWindow, type Point } from "./testing/one-window.ts";

/** Samples every 10 s, starting at 10 s. */
const spaced = (...values: Point[1][]): Point[] =>
  values.map((value, index) => [10 * (index + 1), value]);
const minute: Asked = { at: 60, range: 60 };
const { NaN: nan } = Number;

const rising = spaced(100, 110, 120, 130, 140, 150);
const reset = spaced(100, 110, 120, 5, 15, 25);

const numbers: readonly {
  name: string;
  fn: string;
  points: readonly Point[];
  asked?: Asked;
  want: number | undefined;
}[] = [
  {
    name: "[KL2] a window is open on the left",
    fn: "count_over_time",
    points: spaced(1, 2, 3),
    asked: { at: 30, range: 20 },
    want: 2,
  },
  {
    name: "[KL2] and closed on the right",
    fn: "last_over_time",
    points: spaced(1, 2, 3),
    asked: { at: 30, range: 20 },
    want: 3,
  },
  {
    name: "[KL2] an offset moves it back",
    fn: "last_over_time",
    points: spaced(1, 2, 3),
    asked: { at: 40, range: 20, offset: 20 },
    want: 2,
  },
  {
    name: "[KL2] a range of zero holds nothing",
    fn: "count_over_time",
    points: spaced(1, 2, 3),
    asked: { at: 30, range: 0 },
    want: undefined,
  },
  {
    name: "[KL3] stale markers are not in windows",
    fn: "count_over_time",
    points: spaced(1, "stale", 3),
    want: 2,
  },
  {
    name: "[KL3] nor do they part them",
    fn: "delta",
    points: spaced(0, "stale", 20),
    asked: { at: 30, range: 30 },
    want: 30,
  },

  { name: "[KL4] increase reaches to both edges", fn: "increase", points: rising, want: 60 },
  { name: "[KL4] rate is per second", fn: "rate", points: rising, want: 1 },
  {
    name: "[KL4] delta does not mind a fall",
    fn: "delta",
    points: spaced(50, 40, 30, 20, 10, 0),
    want: -60,
  },
  {
    name: "[KL4] a counter does not start below zero",
    fn: "increase",
    points: spaced(0, 10, 20, 30, 40, 50),
    want: 50,
  },
  {
    name: "[KL4] beyond a gap, half of one is added",
    fn: "increase",
    points: spaced(100, 110),
    want: 25,
  },
  { name: "[KL4] a reset adds what was before", fn: "increase", points: reset, want: 54 },
  { name: "[KL4] one sample says nothing", fn: "rate", points: spaced(1), want: undefined },
  {
    name: "[KL4] NaN is no reset",
    fn: "delta",
    points: spaced(1, nan, 3),
    asked: { at: 30, range: 30 },
    want: 3,
  },

  {
    name: "[KL5] a start within the window is a zero",
    fn: "increase",
    points: [[30, 5, 10]],
    want: 5,
  },
  {
    name: "[KL5] one before the window is not",
    fn: "increase",
    points: [[30, 5, 0.5]],
    asked: { at: 60, range: 59.5 },
    want: undefined,
  },
  {
    name: "[KL5] a start after the sample before is a reset",
    fn: "resets",
    points: [
      [10, 5, 1],
      [20, 7, 15],
    ],
    want: 1,
  },
  {
    name: "[KL5] the same start is none",
    fn: "resets",
    points: [
      [10, 5, 1],
      [20, 7, 1],
    ],
    want: 0,
  },
  {
    name: "[KL5] deltas start where the one before ended",
    fn: "resets",
    points: [
      [10, 5, 1],
      [20, 7, 10],
    ],
    want: 1,
  },
  {
    name: "[KL5] unless that one's start was unknown",
    fn: "resets",
    points: [
      [10, 5],
      [20, 7, 10],
    ],
    want: 0,
  },
  {
    name: "[KL5] a start at the sample itself is unknown",
    fn: "resets",
    points: [
      [10, 5, 1],
      [20, 7, 20],
    ],
    want: 0,
  },
  {
    name: "[KL5] irate after a start is the value",
    fn: "irate",
    points: [
      [10, 5, 1],
      [20, 7, 15],
    ],
    want: 0.7,
  },
  {
    name: "[KL5] delta knows no starts",
    fn: "delta",
    points: [
      [10, 5, 1],
      [20, 7, 15],
    ],
    asked: { at: 20, range: 20 },
    want: 4,
  },

  { name: "[KL4] irate of the last two", fn: "irate", points: spaced(0, 100, 150), want: 5 },
  { name: "[KL4] irate after a reset", fn: "irate", points: spaced(0, 100, 50), want: 5 },
  { name: "[KL4] idelta", fn: "idelta", points: spaced(0, 100, 50), want: -50 },

  {
    name: "[KL6] sum_over_time loses nothing",
    fn: "sum_over_time",
    points: spaced(1e100, 1, -1e100),
    want: 1,
  },
  {
    name: "[KL6] sum_over_time of infinity",
    fn: "sum_over_time",
    points: spaced(1, Infinity, 1),
    want: Infinity,
  },
  {
    name: "[KL6] sum_over_time of whole numbers",
    fn: "sum_over_time",
    points: spaced(1, 2, 3),
    want: 6,
  },
  { name: "[KL6] avg_over_time", fn: "avg_over_time", points: spaced(1, 2, 3, 4), want: 2.5 },
  {
    name: "[KL6] avg_over_time does not overflow",
    fn: "avg_over_time",
    points: spaced(1.5e308, 1.5e308),
    want: 1.5e308,
  },
  {
    name: "[KL6] max_over_time passes NaN over",
    fn: "max_over_time",
    points: spaced(nan, 3, nan, 2),
    want: 3,
  },
  {
    name: "[KL6] min_over_time passes NaN over",
    fn: "min_over_time",
    points: spaced(nan, 3, nan, 2),
    want: 2,
  },
  {
    name: "[KL6] max_over_time of NaN alone",
    fn: "max_over_time",
    points: spaced(nan, nan),
    want: nan,
  },
  {
    name: "[KL6] ts_of_max_over_time is the latest",
    fn: "ts_of_max_over_time",
    points: spaced(3, 5, 5, 1),
    want: 30,
  },
  {
    name: "[KL6] ts_of_min_over_time is the latest",
    fn: "ts_of_min_over_time",
    points: spaced(3, 1, 1, 5),
    want: 30,
  },
  {
    name: "[KL6] ts_of_first_over_time",
    fn: "ts_of_first_over_time",
    points: spaced(3, 1),
    want: 10,
  },
  {
    name: "[KL6] ts_of_last_over_time",
    fn: "ts_of_last_over_time",
    points: spaced(3, 1),
    want: 20,
  },
  { name: "[KL6] first_over_time", fn: "first_over_time", points: spaced(3, 1), want: 3 },
  { name: "[KL6] present_over_time", fn: "present_over_time", points: spaced(3), want: 1 },
  {
    name: "[KL6] stdvar_over_time",
    fn: "stdvar_over_time",
    points: spaced(2, 4, 4, 4, 6),
    asked: { at: 60, range: 60 },
    want: 1.6,
  },
  { name: "[KL6] stddev_over_time", fn: "stddev_over_time", points: spaced(1, 5), want: 2 },
  {
    name: "[KL6] quantile_over_time lies between two",
    fn: "quantile_over_time",
    points: spaced(4, 1, 3, 2),
    asked: { ...minute, args: [0.5] },
    want: 2.5,
  },
  {
    name: "[KL6] quantile_over_time below 0",
    fn: "quantile_over_time",
    points: spaced(4),
    asked: { ...minute, args: [-1] },
    want: -Infinity,
  },
  { name: "[KL6] mad_over_time", fn: "mad_over_time", points: spaced(1, 2, 3, 4, 100), want: 1 },
  { name: "[KL6] mad_over_time of NaN", fn: "mad_over_time", points: spaced(1, nan), want: nan },
  { name: "[KL6] deriv", fn: "deriv", points: rising, want: 1 },
  { name: "[KL6] deriv of a constant", fn: "deriv", points: spaced(7, 7, 7), want: 0 },
  {
    name: "[KL6] predict_linear from the time of evaluation",
    fn: "predict_linear",
    points: rising,
    asked: { at: 60, range: 60, args: [60] },
    want: 210,
  },
  {
    name: "[KL6] double_exponential_smoothing follows a line",
    fn: "double_exponential_smoothing",
    points: spaced(1, 2, 3),
    asked: { ...minute, args: [0.5, 0.1] },
    want: 3,
  },
  { name: "[KL6] changes", fn: "changes", points: spaced(1, 1, 2, nan, nan, 2), want: 3 },
  { name: "[KL6] resets", fn: "resets", points: spaced(1, 2, 1, 3, 0), want: 2 },
  {
    name: "[KL6] a histogram after a float is a change",
    fn: "changes",
    points: spaced(1, exponential([1])),
    want: 1,
  },

  {
    name: "[KL8] anchored: from the last before the window",
    fn: "increase",
    points: spaced(10, 20, 30, 40),
    asked: { at: 35, range: 20, bounds: "anchored" },
    want: 20,
  },
  {
    name: "[KL8] smoothed: from edge to edge",
    fn: "increase",
    points: spaced(10, 20, 30, 40),
    asked: { at: 35, range: 20, bounds: "smoothed" },
    want: 20,
  },
  {
    name: "[KL8] smoothed rises from zero after a reset",
    fn: "increase",
    points: spaced(10, 20, 30, 2),
    asked: { at: 35, range: 20, bounds: "smoothed" },
    want: 16,
  },
  {
    name: "[KL8] anchored rate",
    fn: "rate",
    points: spaced(10, 20, 30, 40),
    asked: { at: 35, range: 20, bounds: "anchored" },
    want: 1,
  },
  {
    name: "[KL8] anchored, with nothing in the window",
    fn: "increase",
    points: spaced(10, 20),
    asked: { at: 50, range: 20, bounds: "anchored" },
    want: undefined,
  },
  {
    name: "[KL8] anchored changes see the one before",
    fn: "changes",
    points: spaced(1, 2, 2, 2),
    asked: { at: 40, range: 25, bounds: "anchored" },
    want: 1,
  },
];

for (const { name, fn, points, asked = minute, want } of numbers) {
  test(`${name}: ${fn}`, () => {
    const { value } = oneWindow(fn, points, asked);
    if (typeof want === "number" && Number.isFinite(want)) {
      assert.ok(
        typeof value === "number" && Math.abs(value - want) <= 1e-12 * Math.abs(want),
        `${value}`,
      );
    } else {
      assert.deepEqual(value, want);
    }
  });
}

const notes: readonly {
  name: string;
  fn: string;
  points: readonly Point[];
  asked?: Asked;
  want: readonly string[];
}[] = [
  {
    name: "rate of what may be a gauge",
    fn: "rate",
    points: rising,
    asked: { ...minute, name: "x" },
    want: [`metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "x"`],
  },
  {
    name: "no rate, no word",
    fn: "rate",
    points: spaced(1),
    asked: { ...minute, name: "x" },
    want: [],
  },
  {
    name: "floats and histograms",
    fn: "rate",
    points: spaced(1, exponential([1])),
    want: [`encountered a mix of histograms and floats for metric name "x_total"`],
  },
  {
    name: "floats and histograms",
    fn: "sum_over_time",
    points: spaced(1, exponential([1])),
    want: [`encountered a mix of histograms and floats for metric name "x_total"`],
  },
  {
    name: "floats and histograms",
    fn: "max_over_time",
    points: spaced(1, exponential([1])),
    want: [
      `ignored histograms in a range containing both floats and histograms for metric name "x_total"`,
    ],
  },
  { name: "histograms alone", fn: "max_over_time", points: spaced(exponential([1])), want: [] },
  {
    name: "gauges",
    fn: "rate",
    points: spaced(exponential([1], "gauge"), exponential([2])),
    want: [`this native histogram metric is not a counter: "x_total"`],
  },
  {
    name: "counters",
    fn: "delta",
    points: spaced(exponential([1], "gauge"), exponential([2])),
    want: [`this native histogram metric is not a gauge: "x_total"`],
  },
  {
    name: "two kinds of buckets",
    fn: "delta",
    points: spaced(exponential([1], "gauge"), custom([2], "gauge")),
    want: [
      `vector contains a mix of histograms with exponential and custom buckets schemas for metric name "x_total"`,
    ],
  },
  {
    name: "resets that contradict each other",
    fn: "sum_over_time",
    points: spaced(exponential([1], "reset"), exponential([2], "not_reset")),
    want: ["conflicting counter resets during histogram aggregation"],
  },
  {
    name: "a quantile out of range",
    fn: "quantile_over_time",
    points: spaced(1),
    asked: { ...minute, args: [2] },
    want: ["quantile value should be between 0 and 1, got 2"],
  },
  {
    name: "starts that overlap",
    fn: "rate",
    points: [
      [10, 1, 5],
      [20, 2, 6],
    ],
    want: [
      `sample has start time that overlaps with previous sample timestamp for metric "x_total"`,
    ],
  },
];
for (const { name, fn, points, asked = minute, want } of notes) {
  test(`[KL7] ${fn} says so: ${name}`, () => {
    assert.deepEqual(oneWindow(fn, points, asked).notes, want);
  });
}

const bucketsOf = (value: unknown) => (value as FloatHistogram | undefined)?.positiveBuckets;

const histograms: readonly {
  name: string;
  fn: string;
  points: readonly Point[];
  asked?: Asked;
  want: readonly number[] | undefined;
}[] = [
  {
    name: "extrapolated like floats, by the counts",
    fn: "increase",
    points: spaced(exponential([1, 1]), exponential([2, 3])),
    asked: { at: 20, range: 20 },
    want: [5 / 3, 10 / 3],
  },
  {
    name: "a reset adds what was before",
    fn: "increase",
    points: spaced(exponential([50]), exponential([70]), exponential([10])),
    asked: { at: 30, range: 30 },
    want: [45],
  },
  {
    name: "what was reset at once does not matter",
    fn: "increase",
    points: spaced(custom([5]), exponential([1]), exponential([3])),
    asked: { at: 30, range: 25 },
    want: [3.75],
  },
  { name: "irate", fn: "irate", points: spaced(exponential([1]), exponential([11])), want: [1] },
  {
    name: "irate after a reset",
    fn: "irate",
    points: spaced(exponential([9]), exponential([5])),
    want: [0.5],
  },
  {
    name: "idelta",
    fn: "idelta",
    points: spaced(exponential([1], "gauge"), exponential([4], "gauge")),
    want: [3],
  },
  {
    name: "sum",
    fn: "sum_over_time",
    points: spaced(exponential([1]), exponential([4])),
    want: [5],
  },
  {
    name: "average",
    fn: "avg_over_time",
    points: spaced(exponential([1]), exponential([4])),
    want: [2.5],
  },
  { name: "last", fn: "last_over_time", points: spaced(1, exponential([4])), want: [4] },
  { name: "first", fn: "first_over_time", points: spaced(exponential([4]), 1), want: [4] },
  {
    name: "[KL8] anchored",
    fn: "increase",
    points: spaced(exponential([10]), exponential([20]), exponential([30])),
    asked: { at: 35, range: 20, bounds: "anchored" },
    want: [20],
  },
  {
    name: "[KL8] smoothed",
    fn: "rate",
    points: spaced(exponential([10]), exponential([20]), exponential([30]), exponential([40])),
    asked: { at: 35, range: 20, bounds: "smoothed" },
    want: [1],
  },
  {
    name: "[KL8] smoothed, with a reset within",
    fn: "increase",
    points: spaced(exponential([10]), exponential([20]), exponential([4]), exponential([8])),
    asked: { at: 35, range: 20, bounds: "smoothed" },
    want: [11],
  },
  {
    name: "[KL8] smoothed across a reset",
    fn: "increase",
    points: spaced(exponential([10]), exponential([4]), exponential([6]), exponential([8])),
    asked: { at: 35, range: 20, bounds: "smoothed" },
    want: [5],
  },
];
for (const { name, fn, points, asked = minute, want } of histograms) {
  test(`[KL6] ${fn} of histograms: ${name}`, () => {
    const got = bucketsOf(oneWindow(fn, points, asked).value);
    assert.equal(got?.length, want?.length);
    got?.forEach((bucket, index) => {
      assert.ok(Math.abs(bucket - (want?.[index] ?? 0)) < 1e-12, `${got}`);
    });
  });
}

test("[KL6] factors of smoothing lie between 0 and 1", () => {
  const ask =
    (...args: number[]) =>
    () =>
      oneWindow("double_exponential_smoothing", spaced(1, 2), { ...minute, args });
  const refused = (message: string) => (error: unknown) =>
    error instanceof PromqlError && error.stage === "execution" && error.message === message;
  assert.throws(
    ask(0, 0.5),
    refused("invalid smoothing factor. Expected: 0 < sf < 1, got: 0.000000"),
  );
  assert.throws(
    ask(0.5, 1.5),
    refused("invalid trend factor. Expected: 0 < tf < 1, got: 1.500000"),
  );
});

test("[KL8] other functions refuse the modifiers", () => {
  assert.equal(boundsError("rate", "smoothed"), undefined);
  assert.equal(
    boundsError("resets", "smoothed"),
    "smoothed modifier can only be used with: delta, increase, rate - not with resets",
  );
  assert.equal(
    boundsError("sum_over_time", "anchored"),
    "anchored modifier can only be used with: changes, delta, increase, rate, resets - not with sum_over_time",
  );
});

test("[KL9] only the first and the last sample keep the name", () => {
  const keep = [...rangeKernels.keys()].filter(kernelKeepsName);
  assert.deepEqual(keep, ["first_over_time", "last_over_time"]);
});
