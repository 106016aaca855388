import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeHistogram } from "../../histogram/testing/histograms.ts";
import type { StepSeries } from "../../model.ts";
import {
  ClassicBuckets,
  classicFraction,
  classicQuantile,
  forceMonotonic,
} from "./classic-buckets.ts";
import { parseBound } from "./parse-bound.ts";
import { call, type Sample, series } from "./testing/call.ts";

/** Cumulative counts by bound, each as the samples of a series. */
function classic(
  labels: Record<string, string>,
  buckets: Record<string, Sample | Sample[]>,
): StepSeries[] {
  return Object.entries(buckets).map(([le, samples]) =>
    series({ ...labels, le }, ...(Array.isArray(samples) ? samples : [samples])),
  );
}

const latency = classic(
  { __name__: "m_bucket", a: "x" },
  { "+Inf": 10, "0.1": 2, "0.2": 6, "0.4": 8 },
);
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const quantiles: { name: string; of: StepSeries[]; at: number; want: number }[] = [
  { name: "in the first bucket from 0", of: latency, at: 0.1, want: 0.05 },
  { name: "in the middle", of: latency, at: 0.4, want: 0.15 },
  { name: "in the last bucket: its lower bound", of: latency, at: 0.95, want: 0.4 },
  { name: "below 0", of: latency, at: -1, want: -inf },
  { name: "above 1", of: latency, at: 2, want: inf },
  { name: "NaN", of: latency, at: nan, want: nan },
  { name: "a first bound below 0", of: classic({}, { "-1": 5, "+Inf": 5 }), at: 0.5, want: -1 },
  { name: "no bucket of +Inf", of: classic({}, { "1": 5, "2": 6 }), at: 0.5, want: nan },
  { name: "only a bucket of +Inf", of: classic({}, { "+Inf": 6 }), at: 0.5, want: nan },
  { name: "nothing observed", of: classic({}, { "1": 0, "+Inf": 0 }), at: 0.5, want: nan },
  {
    name: "the same bound twice",
    of: classic({}, { "1": 2, "1.0": 2, "2": 8, "+Inf": 8 }),
    at: 0.75,
    want: 1.5,
  },
];
for (const { name, of, at, want } of quantiles) {
  test(`[HG10] ${name}`, () => {
    const { result } = call("histogram_quantile", [at, of]);
    assert(result.type === "vector");
    const got = result.series[0]?.values[0] as number;
    assert.ok(Object.is(got, want) || Math.abs(got - want) < 1e-12, `${got}`);
  });
}

test("[HG10] quantiles out of range are warned of", () => {
  assert.deepEqual(call("histogram_quantile", [1.5, latency]).notes, [
    "warning@0: quantile value should be between 0 and 1, got 1.5",
  ]);
});

test("[HG12] the label le goes, the name is dropped, histograms are apart", () => {
  const other = classic({ __name__: "m_bucket", a: "y" }, { "1": 1, "+Inf": 1 });
  const { lines } = call("histogram_quantile", [0.5, [...latency, ...other]]);
  assert.deepEqual(lines, ['-m_bucket{a="x"} 0.175', '-m_bucket{a="y"} 0.5']);
  const now = call("histogram_quantile", [0.5, latency], { delayedNameRemoval: false });
  assert.deepEqual(now.lines, ['{a="x"} 0.175']);
});

test("[HG10] falling counts are raised, and the figures gathered", () => {
  const falling = classic(
    { __name__: "m" },
    { "1": [2, 10, 10], "2": [4, 7, 10], "4": [4, 9, 3], "+Inf": [4, 20, 20] },
  );
  const { lines, notes } = call("histogram_quantile", [0.25, falling], { steps: 3 });
  assert.deepEqual(lines, ["-m{} 0.5 0.5 0.5"]);
  assert.deepEqual(notes, [
    "info@1: input to histogram_quantile needed to be fixed for monotonicity (see " +
      "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile) " +
      'for metric name "m", from buckets 2 to 4, with a max diff of 7, over 2 samples ' +
      "from 1970-01-01T00:01:00Z to 1970-01-01T00:02:00Z",
  ]);
});

test("[HG10] differences by rounding are no news", () => {
  const rounded = classic({}, { "1": 1_000_000, "2": 1_000_000 - 1e-9, "+Inf": 1_000_000 });
  assert.deepEqual(call("histogram_quantile", [0.5, rounded]).notes, []);
});

test("[HG11] a bound that is no number is warned of, and does not count", () => {
  const bad = [
    ...latency,
    series({ __name__: "m_bucket", a: "x", le: "zero" }, 9),
    series({ __name__: "n" }, 1),
  ];
  const { lines, notes } = call("histogram_quantile", [0.4, bad]);
  assert.equal(lines.length, 1);
  assert.deepEqual(notes, [
    'warning@1: bucket label "le" is missing or has a malformed value of "zero" for metric name "m_bucket"',
    'warning@1: bucket label "le" is missing or has a malformed value of "" for metric name "n"',
  ]);
  const unnamed = call("histogram_quantile", [0.4, [series({ __name__: "n" }, 1)]], {
    delayedNameRemoval: false,
  });
  assert.deepEqual(unnamed.notes, [
    'warning@1: bucket label "le" is missing or has a malformed value of ""',
  ]);
});

const native = makeHistogram({ positiveBuckets: [4, 4] });

test("[HG11] where classic and native histograms meet, neither counts", () => {
  const buckets = classic({ __name__: "m" }, { "1": [1, 1, undefined], "+Inf": [1, 1, undefined] });
  const both = [...buckets, series({ __name__: "m" }, undefined, native, native)];
  const { lines, notes } = call("histogram_quantile", [0.5, both], { steps: 3 });
  assert.deepEqual(lines, ["-m{} _ _ 2", "-m{} 0.5 _ _"]);
  assert.deepEqual(notes, [
    'warning@1: vector contains a mix of classic and native histograms for metric name "m"',
  ]);
});

test("[HG6] observations of NaN in a native histogram are noted", () => {
  const withNan = makeHistogram({ positiveBuckets: [4, 4], count: 10, sum: nan });
  const vector = [series({ __name__: "m" }, withNan)];
  assert.deepEqual(call("histogram_quantile", [0.9, vector]).notes, [
    'info@1: input to histogram_quantile has NaN observations, result is NaN for metric name "m"',
  ]);
  assert.deepEqual(call("histogram_fraction", [-inf, inf, vector]), {
    ...call("histogram_fraction", [-inf, inf, vector]),
    lines: ["-m{} 0.8"],
    notes: [
      'info@2: input to histogram_fraction has NaN observations, which are excluded from all fractions for metric name "m"',
    ],
  });
});

test("[HG6] histogram_quantiles labels each quantile", () => {
  const vector = [series({ __name__: "m" }, native), ...latency];
  const { lines, notes } = call("histogram_quantiles", [vector, "q", 0.5, 1, nan]);
  assert.deepEqual(lines, [
    '-m{q="0.5"} 2',
    '-m_bucket{a="x",q="0.5"} 0.175',
    '-m{q="1.0"} 4',
    '-m_bucket{a="x",q="1.0"} 0.4',
    '-m{q="NaN"} NaN',
    '-m_bucket{a="x",q="NaN"} NaN',
  ]);
  assert.deepEqual(notes, ["warning@4: quantile value should be between 0 and 1, got NaN"]);
});

test("[HG6] a quantile that changes is another series", () => {
  const vector = [series({ __name__: "m" }, native, native, native)];
  const { lines } = call("histogram_quantiles", [vector, "q", Float64Array.of(0.5, 1, 0.5)], {
    steps: 3,
  });
  assert.deepEqual(lines, ['-m{q="0.5"} 2 _ 2', '-m{q="1.0"} _ 4 _']);
});

test("[HG10] many quantiles of one histogram note its falling counts once", () => {
  const falling = classic({ __name__: "m" }, { "1": 5, "2": 3, "+Inf": 6 });
  const { notes } = call("histogram_quantiles", [falling, "q", 0.1, 0.2]);
  assert.match(notes.join(), /^info@0: .* over 1 samples/);
});

const fractions: { of: StepSeries[]; from: number; to: number; want: number }[] = [
  { of: latency, from: 0, to: 0.2, want: 0.6 },
  { of: latency, from: 0.05, to: 0.15, want: 0.3 },
  { of: latency, from: -inf, to: inf, want: 1 },
  { of: latency, from: 0.4, to: inf, want: 0.2 },
  { of: latency, from: 1, to: 2, want: 0 },
  { of: latency, from: 2, to: 1, want: 0 },
  { of: latency, from: nan, to: 1, want: nan },
  { of: classic({}, { "-1": 5, "1": 9, "+Inf": 10 }), from: -inf, to: 0, want: 0.7 },
  { of: classic({}, { "1": 5 }), from: 0, to: 1, want: nan },
  { of: classic({}, { "1": 0, "+Inf": 0 }), from: 0, to: 1, want: nan },
];
for (const { of, from, to, want } of fractions) {
  test(`[HG7] classic fraction from ${from} to ${to}: ${want}`, () => {
    const { result } = call("histogram_fraction", [from, to, of]);
    assert(result.type === "vector");
    const got = result.series[0]?.values[0] as number;
    assert.ok(Object.is(got, want) || Math.abs(got - want) < 1e-12, `${got}`);
  });
}

const wholes: [string, string][] = [
  ["histogram_count", "-m{} _ 8"],
  ["histogram_sum", "-m{} _ 16"],
  ["histogram_avg", "-m{} _ 2"],
];
for (const [name, want] of wholes) {
  test(`[HG12] ${name} leaves out floats`, () => {
    const vector = [
      series({ __name__: "m" }, 3, { ...native, sum: 16 }),
      series({ __name__: "f" }, 1, 2),
    ];
    assert.deepEqual(call(name, [vector], { steps: 2 }).lines, [want]);
  });
}

test("[HG12] histogram_stddev is the root of histogram_stdvar", () => {
  const vector = [series({}, makeHistogram({ zeroThreshold: 1, zeroCount: 4, sum: 8 }))];
  assert.deepEqual(call("histogram_stdvar", [vector]).lines, ["-{} 4"]);
  assert.deepEqual(call("histogram_stddev", [vector]).lines, ["-{} 2"]);
});

const bounds: [string, number | undefined][] = [
  ["0.1", 0.1],
  ["+Inf", inf],
  ["-infinity", -inf],
  ["inf", inf],
  ["1e3", 1000],
  [".5", 0.5],
  ["5.", 5],
  ["0x1p-2", 0.25],
  ["0x1.8p1", 3],
  ["nan", nan],
  ["", undefined],
  [" 1", undefined],
  ["1_000", undefined],
  ["0x10", undefined],
  ["1e999", undefined],
  ["+nan", undefined],
  ["one", undefined],
];
for (const [text, want] of bounds) {
  test(`[HG11] the bound ${JSON.stringify(text)} is ${want}`, () =>
    assert.equal(parseBound(text), want));
}

const bucketCounts = fc.array(fc.nat({ max: 100 }), { minLength: 1, maxLength: 8 });
function bucketsOf(increments: readonly number[]): ClassicBuckets {
  const buckets = new ClassicBuckets(increments.length + 1);
  let total = 0;
  for (const [index, increment] of increments.entries()) {
    total += increment;
    buckets.push(index + 1, total);
  }
  buckets.push(inf, total + 1);
  return buckets;
}
const unit = fc.double({ min: 0, max: 1, noNaN: true });

test("[HG10] a greater quantile is not a lesser value", () => {
  fc.assert(
    fc.property(bucketCounts, unit, unit, (increments, a, b) => {
      const buckets = bucketsOf(increments);
      const low = classicQuantile(Math.min(a, b), buckets);
      const high = classicQuantile(Math.max(a, b), buckets);
      // A quantile of 0 in an empty first bucket has no value.
      assert.ok(Number.isNaN(low) || low <= high + 1e-9, `${low} ${high}`);
    }),
  );
});

test("[HG10] raised counts never fall, and what never fell is left alone", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 9 }), (counts) => {
      const buckets = new ClassicBuckets(counts.length);
      for (const [index, count] of counts.entries()) buckets.push(index, count);
      forceMonotonic(buckets);
      const raised = [...buckets.counts];
      for (const [index, count] of raised.entries()) assert.ok(count >= (raised[index - 1] ?? 0));
      assert.equal(forceMonotonic(buckets), undefined);
    }),
  );
});

test("[HG7] a classic fraction undoes a quantile", () => {
  const populated = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(populated, unit, (increments, at) => {
      const buckets = bucketsOf(increments);
      const value = classicQuantile(at, buckets);
      fc.pre(value < increments.length);
      assert.ok(Math.abs(classicFraction(-inf, value, buckets) - at) < 1e-9);
    }),
  );
});
