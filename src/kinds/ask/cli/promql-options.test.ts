import assert from "node:assert/strict";
import { test } from "node:test";
import { createPaint } from "../../../ground/command/output/terminal.ts";
import { drawChart } from "./chart.ts";
import { pointAtError } from "./point-at-error.ts";
import { type Moment, momentOf, type PromqlOptions } from "./promql-options.ts";

const nowMs = 1_700_000_000_000;
const range = (startMs: number, endMs: number, stepMs: number): Moment => ({
  kind: "range",
  startMs,
  endMs,
  stepMs,
});

const cases: readonly { options: PromqlOptions; want: Moment }[] = [
  { options: {}, want: { kind: "instant", timeMs: nowMs } },
  { options: { time: "5m" }, want: { kind: "instant", timeMs: nowMs - 300_000 } },
  { options: { time: "1600000000.5" }, want: { kind: "instant", timeMs: 1_600_000_000_500 } },
  { options: { time: "2023-11-14T22:13:20Z" }, want: { kind: "instant", timeMs: nowMs } },
  { options: { range: "1h" }, want: range(nowMs - 3_600_000, nowMs, 60_000) },
  { options: { range: "10m" }, want: range(nowMs - 600_000, nowMs, 10_000) },
  { options: { range: "1h", step: "15s" }, want: range(nowMs - 3_600_000, nowMs, 15_000) },
  {
    options: { range: "1h", time: "1h" },
    want: range(nowMs - 7_200_000, nowMs - 3_600_000, 60_000),
  },
  {
    options: { start: "2h", end: "1h", step: "30" },
    want: range(nowMs - 7_200_000, nowMs - 3_600_000, 30_000),
  },
];
for (const { options, want } of cases) {
  test(`[CM15] ${JSON.stringify(options)} is a time to ask for`, () => {
    assert.deepEqual(momentOf(options, nowMs), want);
  });
}

for (const options of [
  { range: "long" },
  { time: "yesterday" },
  { step: "15s" },
  { range: "1h", start: "2h" },
  { start: "1h", end: "2h" },
  { range: "1h", step: "0" },
] satisfies PromqlOptions[]) {
  test(`[CM15] ${JSON.stringify(options)} is refused`, () => {
    assert.throws(() => momentOf(options, nowMs), { name: "Failure", code: "usage" });
  });
}

test("[CM15] the option that is wrong is named", () => {
  assert.throws(() => momentOf({ time: "yesterday" }, nowMs), /^Failure: --time "yesterday"/);
  assert.throws(() => momentOf({ range: "1h", end: "soon" }, nowMs), /^Failure: --end "soon"/);
});

test("[CM15] an error stands under its place, counted in characters", () => {
  assert.equal(
    pointAtError(
      'sum("ä") )',
      'invalid parameter "query": 1:11: parse error: unexpected right parenthesis',
    ),
    'invalid parameter "query": 1:11: parse error: unexpected right parenthesis\nsum("ä") )\n         ^',
  );
  assert.equal(pointAtError("up", "something else"), "something else");
});

test("[CM15] a chart goes from the lower left to the upper right, and has a legend for two", () => {
  const rising = Array.from({ length: 50 }, (_, index) => [index * 1000, index] as const);
  const paint = createPaint(false);
  const one = drawChart([{ name: "a", points: rising }], 60, paint);
  const rows = one.split("\n");
  assert.match(rows[0] ?? "", /^49 ┤ {50,}/);
  assert.match(rows[9] ?? "", /^ 0 ┤[^ ]/);
  assert.doesNotMatch(one, /──/);
  const two = drawChart(
    [
      { name: "a", points: rising },
      { name: "b", points: rising },
    ],
    60,
    paint,
  );
  assert.match(two, /── b/);
  assert.equal(drawChart([{ name: "a", points: [[0, Number.NaN]] }], 60, paint), "");
});
