import assert from "node:assert/strict";
import { test } from "node:test";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type DescribedValue, parseSeriesDescription } from "./series-description.ts";

function show(value: DescribedValue): string {
  if (value.kind === "absent") return "_";
  if (value.kind === "float") return String(value.value);
  return value.kind;
}

const sequences = [
  ["m", ""],
  ["m 1 2.5 -3 +4", "1 2.5 -3 4"],
  ["m 1+2x3", "1 3 5 7"],
  ["m 5-1x2 _ 7x1", "5 4 3 _ 7 7"],
  ["m -1-1x1", "-1 -2"],
  ["m _x3 1", "_ _ _ 1"],
  ["m stale NaN Inf -Inf 1e3 .5 1_000", "stale NaN Infinity -Infinity 1000 0.5 1000"],
  ["m stale  \t 1  ", "stale 1"],
] as const;
for (const [line, values] of sequences) {
  test(`[PQ26] the values of "${line}"`, () => {
    assert.equal(parseSeriesDescription(line).values.map(show).join(" "), values);
  });
}

const metrics = [
  ["foo 1", { __name__: "foo" }],
  ["foo{} 1", { __name__: "foo" }],
  ['foo{a="b",} 1', { __name__: "foo", a: "b" }],
  ['{"foo.bar", \'c.d\'="}", by=`{{`} 1', { __name__: "foo.bar", "c.d": "}", by: "{{" }],
  ['{a="x \\"y\\" 1"} 1', { a: 'x "y" 1' }],
  ["sum 1", { __name__: "sum" }],
  ["{} 1", {}],
] as const;
for (const [line, labels] of metrics) {
  test(`[PQ26] the labels of "${line}"`, () => {
    const described = parseSeriesDescription(line);
    assert.deepEqual(described.labels.toRecord(), labels);
    assert.equal(described.values.length, 1);
  });
}

const empty: FloatHistogram = {
  counterResetHint: "unknown",
  schema: 0,
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  positiveSpans: [],
  positiveBuckets: [],
  negativeSpans: [],
  negativeBuckets: [],
  customValues: [],
};

test("[PQ27] every part of a histogram", () => {
  const line =
    "m {{schema:1 sum:-5.5 count:12 z_bucket:3 z_bucket_w:0.001 buckets:[1 0 2] offset:-2 " +
    "n_buckets:[4 2] n_offset:1 counter_reset_hint:gauge}}";
  assert.deepEqual(parseSeriesDescription(line).values, [
    {
      kind: "histogram",
      hintSet: true,
      histogram: {
        ...empty,
        counterResetHint: "gauge",
        schema: 1,
        sum: -5.5,
        count: 12,
        zeroCount: 3,
        zeroThreshold: 0.001,
        positiveSpans: [{ offset: -2, length: 3 }],
        positiveBuckets: [1, 0, 2],
        negativeSpans: [{ offset: 1, length: 2 }],
        negativeBuckets: [4, 2],
      },
    },
  ]);
});

test("[PQ27] a histogram without anything, and one with bounds of its own", () => {
  const { values } = parseSeriesDescription(
    "m {{}} {{schema:-53 custom_values:[1 2.5 Inf] buckets:[1 NaN -1]}}",
  );
  assert.deepEqual(values[0], { kind: "histogram", hintSet: false, histogram: empty });
  const custom = values[1];
  assert.ok(custom?.kind === "histogram");
  assert.deepEqual(custom.histogram.customValues, [1, 2.5, Number.POSITIVE_INFINITY]);
  assert.deepEqual(custom.histogram.positiveBuckets, [1, Number.NaN, -1]);
});

function sums(line: string): number[] {
  return parseSeriesDescription(line).values.map((value) =>
    value.kind === "histogram" ? value.histogram.sum : Number.NaN,
  );
}

test("[PQ27] histograms are repeated, added up and taken away", () => {
  assert.deepEqual(sums("m {{sum:1}}x2 {{sum:9}}"), [1, 1, 1, 9]);
  assert.deepEqual(sums("m {{sum:1 buckets:[1]}}+{{sum:2 buckets:[1 1]}}x2"), [1, 3, 5]);
  assert.deepEqual(sums("m {{sum:9}}-{{sum:2}}x3"), [9, 7, 5, 3]);
});

test("[PQ28] start timestamps are milliseconds from each sample's time", () => {
  const described = parseSeriesDescription('m{a="b"}@st -1m 0s+10sx2 1m-500msx1 _x2 5sx1 _');
  assert.equal(described.isStartTimestamps, true);
  assert.deepEqual(described.labels.toRecord(), { __name__: "m", a: "b" });
  assert.equal(
    described.values.map(show).join(" "),
    "-60000 0 10000 20000 60000 59500 _ _ 5000 5000 _",
  );
  assert.equal(parseSeriesDescription("m 1").isStartTimestamps, false);
});

const wrong = [
  ["m 1x", "1:5: parse error: unexpected end of input in series values"],
  ["m 1+2", "1:6: parse error: unexpected end of input in series values"],
  ["m foo", '1:3: parse error: unexpected "foo" in series values, expected number or "stale"'],
  ["m 1,2", '1:4: parse error: unexpected "," in series values'],
  ["m{a} 1", '1:4: parse error: unexpected "}" in label set, expected "="'],
  ["m{a=b} 1", '1:5: parse error: unexpected identifier "b" in label set, expected string'],
  [
    "m{a='b' c='d'} 1",
    '1:9: parse error: unexpected identifier "c" in label set, expected "," or "}"',
  ],
  ["m{,} 1", '1:3: parse error: unexpected "," in label set, expected identifier or "}"'],
  ["m{a='b', ", "1:10: parse error: unexpected end of input inside braces"],
  ["m {{foo:1}}", '1:5: parse error: bad histogram descriptor found: "foo"'],
  ["m {{sum 1}}", "1:5: parse error: missing `:` for histogram descriptor"],
  ["m {{sum:1 sum:2}}", '1:1: parse error: duplicate key "sum" in histogram'],
  ["m {{sum:x}}", "1:9: parse error: number expected in histogram description"],
  ["m {{sum:1", '1:10: parse error: histogram description incomplete unexpected: ""'],
  [
    "m {{schema:2}}+{{schema:1}}x1",
    "1:30: parse error: error combining histograms: cannot merge from schema 1 to 2",
  ],
  ["m@st 5q", '1:6: parse error: unknown unit "q" in duration "5q"'],
  ["m 1x9999999999", "1:15: parse error: more than 5000000 values in a series"],
] as const;
for (const [line, message] of wrong) {
  test(`[PQ26] "${line}" is refused: ${message}`, () => {
    assert.throws(() => parseSeriesDescription(line), { name: "PromqlError", message });
  });
}
