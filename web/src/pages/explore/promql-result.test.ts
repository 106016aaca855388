import assert from "node:assert/strict";
import { test } from "node:test";
import { chartColumns, ResultReader, seriesText } from "./promql-result.ts";

const at = { kind: "range", startMs: 0, endMs: 60_000, stepMs: 10_000 } as const;

test("[WEB31] a result knows what it was asked for", () => {
  assert.equal(new ResultReader(at).result().at, at);
});

test("[WEB31] parts of a result become series: the same labels are one, in whatever order they stand", () => {
  const reader = new ResultReader(at);
  reader.push({
    resultType: "matrix",
    result: [
      {
        metric: { __name__: "up", job: "a", instance: "x" },
        values: [
          [1, "0"],
          [2, "1"],
        ],
      },
    ],
  });
  reader.push({
    resultType: "matrix",
    result: [
      { metric: { instance: "x", job: "a", __name__: "up" }, values: [[3, "1"]] },
      {
        metric: { __name__: "up", job: "b" },
        values: [[3, "NaN"]],
        histograms: [[4, { count: "1", sum: "2" }]],
      },
    ],
  });
  const { series } = reader.result();
  assert.deepEqual(
    series.map(({ values }) => values),
    [
      [
        [1, "0"],
        [2, "1"],
        [3, "1"],
      ],
      [[3, "NaN"]],
    ],
  );
  assert.equal(series[1]?.histograms.length, 1);
});

test("[WEB31] a scalar is a series without labels", () => {
  const reader = new ResultReader(at);
  reader.push({ resultType: "scalar", result: [5, "42"] });
  assert.deepEqual(reader.result().series[0]?.values, [[5, "42"]]);
});

for (const [metric, text] of [
  [{}, "{}"],
  [{ __name__: "up" }, "up"],
  [{ __name__: "up", job: 'a"b' }, 'up{job="a\\"b"}'],
  [{ __name__: "my.metric", "http.status": "200" }, '{"my.metric", "http.status"="200"}'],
] as const) {
  test(`[WEB31] a series reads ${text}`, () => assert.equal(seriesText(metric), text));
}

test("[WEB31] the chart has a gap where a series has no number", () => {
  const reader = new ResultReader(at);
  reader.push({
    resultType: "matrix",
    result: [
      {
        metric: { a: "1" },
        values: [
          [10, "1"],
          [20, "+Inf"],
          [40, "4"],
        ],
      },
      {
        metric: { a: "2" },
        values: [
          [30, "3"],
          [50, "5"],
        ],
      },
    ],
  });
  assert.deepEqual(chartColumns(reader.result().series, 10_000), {
    times: [10, 20, 30, 40, 50],
    columns: [
      [1, null, null, 4, null],
      [null, null, 3, null, 5],
    ],
  });
  assert.deepEqual(chartColumns([], 10_000), { times: [], columns: [] });
});
