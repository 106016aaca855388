import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defaultEngineOptions,
  type EngineOptions,
  PromqlError,
  type QueryParams,
  type QueryResult,
} from "../engine-types.ts";
import type { HeldMemory } from "../held-memory.ts";
import { histogramToText } from "../histogram/text.ts";
import { compareText } from "../labels.ts";
import type { RawSeries, StepSeries } from "../model.ts";
import { evaluateInMemory } from "../testing/evaluate-in-memory.ts";
import { rawSeries, testHistogram } from "../testing/raw-series.ts";
import { formatAnnotation } from "./format-annotation.ts";
import { labelsToText } from "./result-labels.ts";

const minute = 60_000;
const threeSteps: QueryParams = {
  instant: false,
  grid: { startMs: 0, endMs: 2 * minute, stepMs: minute },
};
const instant: QueryParams = { instant: true, grid: { startMs: 0, endMs: 0, stepMs: 1 } };

const data: readonly RawSeries[] = [
  rawSeries({ __name__: "a", i: "1", job: "x" }, [1, 2, 3]),
  rawSeries({ __name__: "a", i: "2", job: "x" }, [10, 20, 30]),
  rawSeries({ __name__: "a", i: "3", job: "y" }, [100, "stale", 300]),
  rawSeries({ __name__: "b", i: "1", job: "x" }, [2, 2, 2]),
  rawSeries({ __name__: "b", i: "2", job: "x" }, [5, "stale", 5]),
  rawSeries({ __name__: "b", i: "4", job: "z" }, [7, 7, 7]),
  rawSeries({ __name__: "one", job: "x" }, [4, 4, 4]),
  // The two series never have a sample at the same step.
  rawSeries({ __name__: "turn", job: "x", v: "old" }, [1, "stale"]),
  rawSeries({ __name__: "turn", job: "x", v: "new" }, [undefined, 2, 2]),
  // Both series have a sample only at the last step.
  rawSeries({ __name__: "clash", job: "x", v: "1" }, [1, 1, 1]),
  rawSeries({ __name__: "clash", job: "x", v: "2" }, [undefined, undefined, 1]),
];

function run(
  query: string,
  params: QueryParams = threeSteps,
  series: readonly RawSeries[] = data,
  options: Partial<EngineOptions> = {},
): QueryResult {
  return evaluateInMemory(query, params, { ...defaultEngineOptions, ...options }, series, 3);
}

/** One line per series: labels, then the values, with `_` for no value. */
function lines(result: QueryResult): string[] {
  if (result.type === "scalar") return [result.values.join(" ")];
  if (result.type !== "vector") throw new Error(`a ${result.type}`);
  return result.series.map((series) => `${labelsToText(series.labels)} ${valuesOf(series)}`);
}

function valuesOf({ kinds, values, histograms }: StepSeries): string {
  return [...kinds]
    .map((kind, step) => {
      const histogram = histograms?.[step];
      if (kind === 0) return "_";
      return kind === 2 && histogram !== undefined ? histogramToText(histogram) : values[step];
    })
    .join(" ");
}

const binaryCases: readonly [query: string, want: readonly string[]][] = [
  ["a + on (i, job) b", ['{i="1", job="x"} 3 4 5', '{i="2", job="x"} 15 _ 35']],
  ["a > 2", [`{__name__="a", i="1", job="x"} _ _ 3`, ...fromSecond()]],
  ["2 < bool a{i='1'}", ['{i="1", job="x"} 0 0 1']],
  ["a{i='1'} >= on (i) b", ['{i="1"} _ 2 3']],
  ["a{i='1'} == bool on (i) b", ['{i="1"} 0 1 0']],
  ["a * on (job) group_left one", ['{i="1", job="x"} 4 8 12', '{i="2", job="x"} 40 80 120']],
  ["one - on (job) group_right a{i='1'}", ['{i="1", job="x"} 3 2 1']],
  [
    "a{i='1'} * on (job) group_left (v) turn",
    ['{i="1", job="x", v="new"} _ 4 6', '{i="1", job="x", v="old"} 1 _ _'],
  ],
  ["a{i='1'} * on (job) turn", ['{job="x"} 1 4 6']],
  ["a{i='1'} % ignoring (i) group_left () one", ['{i="1", job="x"} 1 2 3']],
  ["-a{i='1'}", ['{i="1", job="x"} -1 -2 -3']],
  ["+a{i='1'}", ['{__name__="a", i="1", job="x"} 1 2 3']],
  ["1 - 2 * 3", ["-5 -5 -5"]],
  ["2 > bool 1", ["1 1 1"]],
  ["1 ^ NaN + (-1) ^ Inf", ["2 2 2"]],
];
function fromSecond(): string[] {
  return ['{__name__="a", i="2", job="x"} 10 20 30', '{__name__="a", i="3", job="y"} 100 _ 300'];
}
for (const [query, want] of binaryCases) {
  test(`[PE13] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

const fillCases: readonly [query: string, want: readonly string[]][] = [
  ["a + on (i) fill_right(0) b", ['{i="1"} 3 4 5', '{i="2"} 15 20 35', '{i="3"} 100 _ 300']],
  ["a{i='1'} + on (i) fill_left(1) b{i='4'}", ['{i="4"} 8 8 8']],
  ["a{i='2'} + on (i) fill(1) b{i='2'}", ['{i="2"} 15 21 35']],
  [
    "a * on (job) group_left () fill_right(2) one",
    ['{i="1", job="x"} 4 8 12', '{i="2", job="x"} 40 80 120', '{i="3", job="y"} 200 _ 600'],
  ],
];
for (const [query, want] of fillCases) {
  test(`[PE14] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

const setCases: readonly [query: string, want: readonly string[]][] = [
  [
    "a and on (i) b",
    ['{__name__="a", i="1", job="x"} 1 2 3', '{__name__="a", i="2", job="x"} 10 _ 30'],
  ],
  [
    "a unless on (i) b",
    ['{__name__="a", i="2", job="x"} _ 20 _', '{__name__="a", i="3", job="y"} 100 _ 300'],
  ],
  [
    "a{i='3'} or on (job) b{i='4'}",
    ['{__name__="a", i="3", job="y"} 100 _ 300', '{__name__="b", i="4", job="z"} 7 7 7'],
  ],
  [
    "a{i='3'} or on () b{i='4'}",
    ['{__name__="a", i="3", job="y"} 100 _ 300', '{__name__="b", i="4", job="z"} _ 7 _'],
  ],
];
for (const [query, want] of setCases) {
  test(`[PE15] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

const errors: readonly [query: string, message: string][] = [
  [
    "a{i='1'} + on (job) clash",
    'found duplicate series for the match group {job="x"} on the right hand-side of the operation: ' +
      '[{__name__="clash", job="x", v="1"}, {__name__="clash", job="x", v="2"}]' +
      ";many-to-many matching not allowed: matching labels must be unique on one side",
  ],
  [
    "clash + on (job) group_right a",
    'found duplicate series for the match group {job="x"} on the left hand-side of the operation: ' +
      '[{__name__="clash", job="x", v="1"}, {__name__="clash", job="x", v="2"}]' +
      ";many-to-many matching not allowed: matching labels must be unique on one side",
  ],
  [
    "clash + on (job) one",
    "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
  ],
  [
    "{__name__=~'a|b', i='1'} * on (job) group_left one",
    "multiple matches for labels: grouping labels must ensure unique matches",
  ],
  ["abs({__name__=~'a|b', i='1'})", "vector cannot contain metrics with the same labelset"],
  ["topk(NaN, a)", "Parameter value is NaN"],
  ["topk(1e30, a)", "Scalar value 1e+30 overflows int64"],
  ["limitk(2 ^ 63, a)", "Scalar value 9.223372036854776e+18 overflows int64"],
  ["limit_ratio(NaN, a)", "Ratio value is NaN"],
  ['count_values("", a)', 'invalid label name ""'],
];
for (const [query, message] of errors) {
  test(`[PE16] ${query} fails`, () => {
    assert.throws(
      () => run(query),
      (error) =>
        error instanceof PromqlError && error.stage === "execution" && error.message === message,
    );
  });
}

test("[PE16] a conflict counts only at steps where both samples exist", () => {
  const params = { ...threeSteps, grid: { ...threeSteps.grid, endMs: minute } };
  assert.deepEqual(lines(run("a{i='1'} + on (job) clash", params)), ['{job="x"} 2 3']);
  // There is no error either while the other side has no sample at all.
  assert.deepEqual(lines(run("(a{i='1'} < 3) + on (job) clash")), ['{job="x"} 2 3 _']);
});

const aggregations: readonly [query: string, want: readonly string[]][] = [
  ["sum by (job) (a)", ['{job="x"} 11 22 33', '{job="y"} 100 _ 300']],
  ["avg(a)", ["{} 37 11 111"]],
  ["count without (i) (a)", ['{job="x"} 2 2 2', '{job="y"} 1 _ 1']],
  ["min(a) + max(a)", ["{} 101 22 303"]],
  ["group(a) by (nothing)", ["{} 1 1 1"]],
  ["stdvar(a{job='x'})", ["{} 20.25 81 182.25"]],
  ["stddev(a{job='x'})", ["{} 4.5 9 13.5"]],
  ["quantile(0.5, a)", ["{} 10 11 30"]],
  ["quantile(2, a)", ["{} Infinity Infinity Infinity"]],
  ["count_values('v', b)", ['{v="2"} 1 1 1', '{v="5"} 1 _ 1', '{v="7"} 1 1 1']],
  [
    "topk(1, a)",
    ['{__name__="a", i="2", job="x"} _ 20 _', '{__name__="a", i="3", job="y"} 100 _ 300'],
  ],
  [
    "bottomk by (job) (1, a)",
    ['{__name__="a", i="1", job="x"} 1 2 3', '{__name__="a", i="3", job="y"} 100 _ 300'],
  ],
  [
    "topk(scalar(a{i='1'}), a)",
    [
      '{__name__="a", i="1", job="x"} _ 2 3',
      '{__name__="a", i="2", job="x"} _ 20 30',
      '{__name__="a", i="3", job="y"} 100 _ 300',
    ],
  ],
  ["topk(0, a)", []],
  [
    "limitk(2, a)",
    ['{__name__="a", i="1", job="x"} 1 2 3', '{__name__="a", i="2", job="x"} 10 20 30'],
  ],
  ["limit_ratio(1, a{i='1'}) or limit_ratio(0, a)", ['{__name__="a", i="1", job="x"} 1 2 3']],
];
for (const [query, want] of aggregations) {
  test(`[PE17] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

test("[PE17] a ratio and its complement make up the whole", () => {
  for (const ratio of [0.2, 0.5, 0.9]) {
    const both = lines(run(`count(limit_ratio(${ratio}, a) or limit_ratio(-(1 - ${ratio}), a))`));
    assert.deepEqual(both, ["{} 3 2 3"]);
  }
});

test("[PE17] an average survives a sum that no float can hold", () => {
  const huge = ["1", "2", "3"].map((i) => rawSeries({ __name__: "huge", i }, [1.5e308]));
  for (const query of ["avg(huge)", "avg(abs(huge))"]) {
    const [line = ""] = lines(run(query, instant, huge));
    assert.ok(Math.abs(Number(line.slice(3)) / 1.5e308 - 1) < 1e-12, line);
  }
});

const orders: readonly [query: string, want: readonly string[]][] = [
  ["sort_desc(a)", ["100", "10", "1"]],
  ["topk(2, a)", ["100", "10"]],
  ["bottomk(2, a)", ["1", "10"]],
  ["sort(a) * 2", ["2", "20", "200"]],
];
for (const [query, want] of orders) {
  test(`[PE18] the result of ${query} at one time is in the order that it asks for`, () => {
    assert.deepEqual(
      lines(run(query, instant)).map((line) => line.split(" ").at(-1)),
      want,
    );
  });
}

test("[PE18] a range query's result is in the order of its labels", () => {
  const labels = lines(run("b or a")).map((line) => line.slice(0, 20));
  assert.deepEqual(labels, labels.toSorted(compareText));
});

const namings: readonly [query: string, delayed: string, atOnce: string][] = [
  ["rate(a[2m])", '{i="1", job="x"}', '{i="1", job="x"}'],
  ["last_over_time(a[2m])", '{__name__="a", i="1", job="x"}', '{__name__="a", i="1", job="x"}'],
  ["sum by (__name__, i) (abs(a))", '{i="1"}', '{i="1"}'],
  ["a{i='1'} > bool 0", '{i="1", job="x"}', '{i="1", job="x"}'],
  [
    "label_replace(abs(a{i='1'}), 'n', '$1', '__name__', '(.*)')",
    '{i="1", job="x", n="a"}',
    '{i="1", job="x"}',
  ],
];
for (const [query, delayed, atOnce] of namings) {
  test(`[PE19] the name in ${query} goes in the end, or at once`, () => {
    for (const delayedNameRemoval of [true, false]) {
      const [first = ""] = lines(run(query, threeSteps, data, { delayedNameRemoval }));
      assert.equal(first.slice(0, first.indexOf("}") + 1), delayedNameRemoval ? delayed : atOnce);
    }
  });
}

test("[PE19] type and unit go with the name", () => {
  const typed = [rawSeries({ __name__: "t_total", __type__: "counter", __unit__: "s" }, [1, 2, 3])];
  assert.deepEqual(lines(run("t_total * 2", threeSteps, typed)), ["{} 2 4 6"]);
});

test("[PE19] series that become equal are one, if they never meet", () => {
  const turns = [
    rawSeries({ __name__: "m", i: "1" }, [1, "stale"]),
    rawSeries({ __name__: "n", i: "1" }, [undefined, 2, 3]),
  ];
  assert.deepEqual(lines(run("-m or -n", threeSteps, turns)), ['{i="1"} -1 -2 -3']);
});

const invariants: readonly [query: string, want: readonly string[]][] = [
  ["a{i='1'} @ 60", ['{__name__="a", i="1", job="x"} 2 2 2']],
  ["a{i='1'} @ end() - a{i='1'}", ['{i="1", job="x"} 2 1 0']],
  ["sum(a @ start())", ["{} 111 111 111"]],
  ["timestamp(a{i='1'} @ 60)", ['{i="1", job="x"} 60 60 60']],
  ["start() + end() + step() + range()", ["300 300 300"]],
  ["scalar(a{i='1'} @ 120)", ["3 3 3"]],
  ["predict_linear(a{i='1'}[5m] @ 120, 0)", ['{i="1", job="x"} 1 2 3']],
  ["sum_over_time(a{i='1'}[2m:1m] @ 120)", ['{i="1", job="x"} 5 5 5']],
];
for (const [query, want] of invariants) {
  test(`[PE7] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

test("[PE8] start() and end() are those of the query, not of a span", () => {
  const span = { startMs: minute, endMs: minute, stepMs: minute };
  assert.deepEqual(lines(run("start() + end()", { ...threeSteps, span })), ["120"]);
});

const absences: readonly [query: string, want: readonly string[]][] = [
  ["absent(a)", []],
  ["absent(a{i='3'})", ['{i="3"} _ 1 _']],
  ["absent(c{i='3', job=~'.+', i='4', z='1'})", ['{z="1"} 1 1 1']],
  ["absent(a > 1000)", ["{} 1 1 1"]],
  ["absent_over_time(c{i='3'}[5m])", ['{i="3"} 1 1 1']],
  ["absent_over_time(turn{v='new'}[30s])", ['{v="new"} 1 _ _']],
  ["absent_over_time(turn{v='new'}[1m:30s])", ["{} 1 _ _"]],
];
for (const [query, want] of absences) {
  test(`[PE20] ${query}`, () => assert.deepEqual(lines(run(query)), want));
}

const h = (buckets: readonly number[], more = {}) => testHistogram(buckets, more);
const histograms: readonly RawSeries[] = [
  rawSeries({ __name__: "h", i: "1" }, [h([1, 2]), h([2, 2])]),
  rawSeries({ __name__: "h", i: "2" }, [h([3, 3]), 5]),
  rawSeries({ __name__: "f", i: "1" }, [2, 2]),
  rawSeries({ __name__: "custom", i: "1" }, [h([1, 1], { schema: -53, customValues: [1, 2] })]),
];
const histogramCases: readonly [query: string, want: string[], notes: readonly string[]][] = [
  ["sum(h)", ["{} {count:9, sum:18, (0.5,1]:4, (1,2]:5}"], []],
  ["avg(h{i='2'})", ["{} {count:6, sum:12, (0.5,1]:3, (1,2]:3}"], []],
  ["count(h)", ["{} 2"], []],
  ["max(h)", [], ["PromQL info: ignored histogram in max aggregation (1:5)"]],
  ["topk(1, h)", [], ["PromQL info: ignored histogram in topk aggregation (1:1)"]],
  ["quantile(0.5, h)", [], ["PromQL info: ignored histogram in quantile aggregation (1:15)"]],
  [
    'sum({__name__=~"h|f"})',
    [],
    ["PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)"],
  ],
  [
    'sum({__name__=~"h|custom"})',
    [],
    [
      'PromQL warning: vector contains a mix of histograms with exponential and custom buckets schemas for metric name "h" (1:5)',
    ],
  ],
  ["h{i='1'} * 2", ['{i="1"} {count:6, sum:12, (0.5,1]:2, (1,2]:4}'], []],
  ["-h{i='1'}", ['{i="1"} {count:-3, sum:-6, (0.5,1]:-1, (1,2]:-2}'], []],
  [
    "h + on (i) f",
    [],
    [
      'PromQL info: incompatible sample types encountered for binary operator "+": histogram + float (1:1)',
    ],
  ],
  [
    "h == on (i) h",
    [
      '{i="1"} {count:3, sum:6, (0.5,1]:1, (1,2]:2}',
      '{i="2"} {count:6, sum:12, (0.5,1]:3, (1,2]:3}',
    ],
    [],
  ],
  ["h != bool on (i) h", ['{i="1"} 0', '{i="2"} 0'], []],
  [
    "h + on (i) custom",
    [],
    ["PromQL warning: incompatible bucket layout encountered for binary operator + (1:1)"],
  ],
  [
    "f </ 1",
    [],
    [
      'PromQL info: incompatible sample types encountered for binary operator "</": float </ float (1:1)',
    ],
  ],
];
for (const [query, want, notes] of histogramCases) {
  test(`[PE21] ${query} of histograms`, () => {
    for (const pushdown of ["full", "raw"] as const) {
      const result = run(query, instant, histograms, { pushdown });
      assert.deepEqual(lines(result), want);
      assert.deepEqual(
        result.annotations.map((annotation) => formatAnnotation(query, annotation)),
        notes,
      );
    }
  });
}

test("[PE21] a sum has a value at steps where all are floats, or all histograms", () => {
  const mixed = [
    rawSeries({ __name__: "mixed", i: "1" }, [1, h([1]), 1]),
    rawSeries({ __name__: "mixed", i: "2" }, [2, h([2]), h([3])]),
    rawSeries({ __name__: "mixed", i: "3" }, [3]),
  ];
  const short = { lookbackMs: 30_000 };
  assert.deepEqual(lines(run("sum(mixed)", threeSteps, mixed, short)), [
    "{} 6 {count:3, sum:6, (0.5,1]:3} _",
  ]);
  assert.deepEqual(lines(run("count(mixed)", threeSteps, mixed, short)), ["{} 3 2 2"]);
});

test("[PE11] resets that only buckets show are known when counts are added up", () => {
  const resets = [
    rawSeries({ __name__: "h", i: "1" }, [h([1, 2]), h([2, 2])]),
    rawSeries({ __name__: "h", i: "2" }, [h([1, 2]), h([3, 0])]),
  ];
  const at = { instant: true, grid: { startMs: minute, endMs: minute, stepMs: 1 } };
  const query = "histogram_count(sum(h))";
  for (const pushdown of ["full", "raw"] as const) {
    const result = run(query, at, resets, { pushdown });
    assert.deepEqual(lines(result), ["{} 7"]);
    assert.deepEqual(
      result.annotations.map((annotation) => formatAnnotation(query, annotation)),
      ["PromQL warning: conflicting counter resets during histogram aggregation (1:21)"],
    );
  }
});

test("[PE22] samples in memory are limited", () => {
  const limited = (samplesMax: number, query: string) => () =>
    run(query, threeSteps, data, { samplesMax });
  const tooMany = /query processing would load too many samples into memory in query execution/;
  assert.throws(limited(5, "a"), tooMany);
  assert.doesNotThrow(limited(8, "a"));
  // The operands are held together with the result.
  assert.throws(limited(20, "a + on (i) b"), tooMany);
  assert.doesNotThrow(limited(30, "a + on (i) b"));
  // A leaf that a worker aggregated counts only what the worker sent.
  assert.doesNotThrow(limited(12, "sum(a) + sum(b)"));
});

test("[PE22] labels in memory are limited: those that are read and those that a query makes", () => {
  const text = "x".repeat(1_000);
  const many = Array.from({ length: 100 }, (_, i) =>
    rawSeries({ __name__: "m", i: String(i) }, [i, i, i]),
  );
  const one = [rawSeries({ __name__: "info", text }, [1, 1, 1])];
  const fat = Array.from({ length: 100 }, (_, i) =>
    rawSeries({ __name__: "fat", text: `${text}${i}` }, [i, i, i]),
  );
  const limited = (labelBytesMax: number, query: string) => () =>
    run(query, threeSteps, [...many, ...one, ...fat], { labelBytesMax });
  const tooMuch = { message: /the limit query_label_bytes is \d+$/, stage: "execution" };
  const multiplying = [
    `count(label_join(m, "x", "${text}", "i", "i"))`,
    `count(label_replace(m, "x", "${text}$1", "i", "(.*)"))`,
    "count(m * on() group_left(text) info)",
    'count(count_values by (text) ("v", m * on() group_left(text) info))',
    "fat",
    "count by (text) (fat)",
    "topk(100, fat)",
    "fat + fat",
  ];
  for (const query of multiplying) {
    assert.throws(limited(50_000, query), tooMuch, query);
    assert.doesNotThrow(limited(1_000_000, query), query);
  }
  // Labels that an aggregation drops are not held.
  assert.doesNotThrow(limited(50_000, "count(fat)"));
  assert.doesNotThrow(limited(50_000, "m + m"));
});

test("[PE23] a range vector is answered with its samples", () => {
  const at = { instant: true, grid: { startMs: 2 * minute, endMs: 2 * minute, stepMs: 1 } };
  const result = run("a{job='y'}[2m]", at);
  assert.ok(result.type === "matrix");
  // The window is left-open, and a stale marker is no sample.
  assert.deepEqual(
    result.series.map(({ samples }) => [...samples.ts.subarray(0, samples.count)]),
    [[2 * minute]],
  );
  const subquery = run("(a{i='1'} * 2)[2m:1m]", at);
  assert.ok(subquery.type === "matrix");
  assert.deepEqual(
    subquery.series.map(({ labels, samples }) => [labels.count, [...samples.values]]),
    [[2, [4, 6]]],
  );
});

test("[PE23] a string is answered as it is", () => {
  assert.deepEqual(run('"text"', instant), { type: "string", text: "text", annotations: [] });
});

test("[PE24] info adds the labels of the newest matching info series", () => {
  const series = [
    rawSeries({ __name__: "m", instance: "1", job: "x" }, [1, 2, 3]),
    rawSeries({ __name__: "m", instance: "2", job: "x" }, [4, 5, 6]),
    rawSeries({ __name__: "target_info", instance: "1", job: "x", v: "old" }, [1]),
    rawSeries({ __name__: "target_info", instance: "1", job: "x", v: "new" }, [undefined, 1, 1]),
  ];
  assert.deepEqual(lines(run("info(m)", threeSteps, series)), [
    '{__name__="m", instance="1", job="x", v="new"} _ 2 3',
    '{__name__="m", instance="1", job="x", v="old"} 1 _ _',
    '{__name__="m", instance="2", job="x"} 4 5 6',
  ]);
  assert.deepEqual(lines(run("info(m, {v='new'})", threeSteps, series)), [
    '{__name__="m", instance="1", job="x", v="new"} _ 2 3',
  ]);
  assert.deepEqual(lines(run("info(target_info)", instant, series)), [
    '{__name__="target_info", instance="1", job="x", v="old"} 1',
  ]);
});

const growing: readonly [query: string, bytes: number][] = [
  ["sum by (i) (a > 0)", 3 * 27],
  ['count_values("v", b)', 3 * 27],
  ["max_over_time(vector(1)[1h:1s])", 3_720 * 9],
  ["a + on (job) group_left one", 3 * 27],
];
for (const [query, bytes] of growing) {
  test(`[PE28] what ${query} holds is counted in bytes, and given back but for the result`, () => {
    let held = 0;
    let peak = 0;
    const memory = (bytesMax: number): HeldMemory => ({
      take(more) {
        if (held + more > bytesMax) throw new Error("too large");
        held += more;
        peak = Math.max(peak, held);
      },
      give(less) {
        held -= less;
      },
    });
    const evaluate = (bytesMax: number) => {
      held = 0;
      const options = { ...defaultEngineOptions };
      return evaluateInMemory(query, threeSteps, options, data, 3, undefined, memory(bytesMax));
    };
    const result = evaluate(1e9);
    assert.ok(peak >= bytes, `${peak}`);
    assert.equal(held, result.type === "vector" ? result.series.length * 27 : 0);
    assert.throws(() => evaluate(bytes - 1), /too large/);
  });
}
