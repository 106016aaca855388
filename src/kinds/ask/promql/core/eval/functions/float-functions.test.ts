import assert from "node:assert/strict";
import { test } from "node:test";
import { functionSignatures } from "../../functions.ts";
import { nearlyEqual } from "../../histogram/equality.ts";
import { makeHistogram } from "../../histogram/testing/histograms.ts";
import type { StepSeries } from "../../model.ts";
import { instantFunctions } from "./instant-functions.ts";
import { call, series } from "./testing/call.ts";

const histogram = makeHistogram({ positiveBuckets: [1] });
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const ofNumbers: { name: string; args?: number[]; of: number[]; want: number[] }[] = [
  { name: "abs", of: [-1.5, 2, nan], want: [1.5, 2, nan] },
  { name: "acos", of: [1, 0, 2], want: [0, Math.PI / 2, nan] },
  { name: "acosh", of: [1, 2], want: [0, 1.3169578969248166] },
  { name: "asin", of: [1], want: [Math.PI / 2] },
  { name: "asinh", of: [0, 1], want: [0, 0.881373587019543] },
  { name: "atan", of: [1, inf], want: [Math.PI / 4, Math.PI / 2] },
  { name: "atanh", of: [0, 1], want: [0, inf] },
  { name: "ceil", of: [1.2, -1.2], want: [2, -1] },
  { name: "cos", of: [0], want: [1] },
  { name: "cosh", of: [0], want: [1] },
  { name: "deg", of: [Math.PI], want: [180] },
  { name: "exp", of: [0, 1, -inf], want: [1, Math.E, 0] },
  { name: "floor", of: [1.8, -1.2], want: [1, -2] },
  { name: "ln", of: [Math.E, 0, -1], want: [1, -inf, nan] },
  { name: "log10", of: [1000], want: [3] },
  { name: "log2", of: [8], want: [3] },
  { name: "rad", of: [180], want: [Math.PI] },
  { name: "sgn", of: [-3, 0, 7, nan], want: [-1, 0, 1, nan] },
  { name: "sin", of: [Math.PI / 2], want: [1] },
  { name: "sinh", of: [1], want: [1.1752011936438014] },
  { name: "sqrt", of: [9, -1], want: [3, nan] },
  { name: "tan", of: [Math.PI / 4], want: [1] },
  { name: "tanh", of: [inf], want: [1] },
  { name: "round", of: [2.5, -2.5, 0.4], want: [3, -2, 0] },
  { name: "round", args: [5], of: [12, 13], want: [10, 15] },
  { name: "round", args: [0.1], of: [1.26], want: [1.3] },
  { name: "clamp", args: [-1, 1], of: [-2, 0.5, 2, nan], want: [-1, 0.5, 1, nan] },
  { name: "clamp_max", args: [1], of: [-inf, 2], want: [-inf, 1] },
  { name: "clamp_min", args: [1], of: [-2, inf], want: [1, inf] },
];
for (const { name, args = [], of, want } of ofNumbers) {
  test(`[HG12] ${name}(${[of.join(" "), ...args].join(", ")})`, () => {
    const vector = [
      series({ __name__: "m", a: "1" }, ...of),
      series({ __name__: "h" }, ...of.map(() => histogram)),
    ];
    const { result, notes } = call(name, [vector, ...args], { steps: of.length });
    assert(result.type === "vector");
    assert.deepEqual(notes, []);
    assert.equal(result.series.length, 1);
    const [one] = result.series as [StepSeries];
    assert.equal(one.dropName, true);
    assert.equal(one.labels.name, "m");
    for (const [step, value] of want.entries()) {
      const got = one.values[step] as number;
      assert.ok(nearlyEqual(got, value, 1e-14), `${got} is not ${value}`);
    }
  });
}

test("[HG12] a histogram among floats leaves a gap", () => {
  const { lines } = call("abs", [[series({ __name__: "m" }, -1, histogram, undefined, -2)]], {
    steps: 4,
  });
  assert.deepEqual(lines, ["-m{} 1 _ _ 2"]);
});

test("[HG12] clamp gives nothing at a step whose bounds cross", () => {
  const low = Float64Array.of(0, 2);
  const { lines } = call("clamp", [[series({ a: "1" }, 5, 5)], low, 1], { steps: 2 });
  assert.deepEqual(lines, ['-{a="1"} 1 _']);
});

test("[HG12] without delayed removal, names and what describes a metric go at once", () => {
  const one = series({ __name__: "m", __type__: "gauge", __unit__: "s", a: "1" }, -1);
  assert.deepEqual(call("abs", [[one]], { delayedNameRemoval: false }).lines, ['{a="1"} 1']);
});

const conversions: {
  name: string;
  args: Parameters<typeof call>[1];
  steps?: number;
  want: string[];
}[] = [
  { name: "time", args: [], steps: 2, want: ["1.5 61.5"] },
  { name: "pi", args: [], want: [String(Math.PI)] },
  { name: "vector", args: [3], steps: 2, want: ["{} 3 3"] },
  { name: "scalar", args: [[series({ a: "1" }, 4)]], want: ["4"] },
  {
    name: "scalar",
    args: [[series({ a: "1" }, 4, 4, undefined), series({ a: "2" }, 5, histogram, undefined)]],
    steps: 3,
    want: ["NaN 4 NaN"],
  },
  {
    name: "timestamp",
    args: [[series({ __name__: "m" }, 7, undefined, histogram)]],
    steps: 3,
    want: ["-m{} 1.5 _ 121.5"],
  },
  { name: "start_timestamp", args: [[series({ __name__: "m" }, 7)]], want: [] },
  { name: "max_of", args: [nan, inf], want: ["Infinity"] },
  { name: "max_of", args: [nan, 1], want: ["NaN"] },
  { name: "min_of", args: [-inf, nan], want: ["-Infinity"] },
  { name: "min_of", args: [2, 1], want: ["1"] },
];
for (const { name, args, steps = 1, want } of conversions) {
  test(`[HG12] ${name} gives ${want}`, () => {
    assert.deepEqual(call(name, args, { steps, startMs: 1_500 }).lines, want);
  });
}

// 2024-02-29 was a Thursday; -1 is the last second of 1969, a Wednesday.
const moments = [1_709_208_061.9, -1, 951_868_800];
const dates: Record<string, number[]> = {
  year: [2024, 1969, 2000],
  month: [2, 12, 3],
  day_of_month: [29, 31, 1],
  day_of_week: [4, 3, 3],
  day_of_year: [60, 365, 61],
  days_in_month: [29, 31, 31],
  hour: [12, 23, 0],
  minute: [1, 59, 0],
};
for (const [name, want] of Object.entries(dates)) {
  test(`[HG12] ${name} of a time`, () => {
    const { lines } = call(name, [[series({ a: "1" }, ...moments, histogram)]], { steps: 4 });
    assert.deepEqual(lines, [`-{a="1"} ${want.join(" ")} _`]);
  });
  test(`[HG12] ${name} of the steps`, () => {
    const { lines } = call(name, [], { startMs: 1_709_208_061_900 });
    assert.deepEqual(lines, [`{} ${want[0]}`]);
  });
}

test("[HG12] dates of what is no time are as Go's on usual machines", () => {
  const { lines } = call("year", [[series({}, nan, inf, 9.3e18, 1e17, -9.2e18)]], { steps: 5 });
  assert.deepEqual(lines, ["-{} 292277026596 292277026596 292277026596 3168875820 -291536392293"]);
});

test("[HG12] every function without a range vector is here, but for those that need the expression", () => {
  const elsewhere = new Set(["absent", "end", "info", "range", "start", "step"]);
  const expected = [...functionSignatures.values()]
    .filter(({ argTypes }) => !argTypes.includes("matrix"))
    .map(({ name }) => name)
    .filter((name) => !elsewhere.has(name));
  assert.deepEqual(new Set(instantFunctions.keys()), new Set(expected));
});
