import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { SegmentInfo } from "../../metrics/core/index.ts";
import type { BaseExpr } from "../../promql/core/index.ts";
import { parseExact, stringifyExact } from "./exact-numbers.ts";
import { encodeWork, type LeafWork, parseWork } from "./work-body.ts";

const values = [
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  -0,
  0,
  1.5,
  "#",
  "##Infinity",
  "#NaN",
  'a"#b',
  { deep: [-0, { "#key": "#value" }] },
];

for (const value of values) {
  const name = typeof value === "object" ? "nested" : `${Object.is(value, -0) ? "-0" : value}`;
  test(`[QP1] ${name} survives the way to the worker`, () => {
    assert.deepStrictEqual(parseExact(stringifyExact(value)), value);
  });
}

const leaf: BaseExpr = {
  matchers: [{ name: "__name__", op: "=", value: "#up" }],
  grid: { startMs: 0, endMs: 60_000, stepMs: 15_000 },
  rangeMs: 300_000,
  offsetMs: -5,
  lookbackMs: 300_000,
  bounds: undefined,
  useStartTs: true,
  output: {
    kind: "steps",
    call: { name: "quantile_over_time", args: [Number.POSITIVE_INFINITY] },
  },
};

const segment: SegmentInfo = {
  segmentId: "s-1",
  seq: 3,
  level: 1,
  minTs: 1,
  maxTs: 2,
  shardCount: 4,
  shard: 2,
  seriesCount: 10,
  sampleCount: 100,
  histogramCount: 0,
  sizeBytes: 1000,
  metricNames: undefined,
  path: "segments/s-1",
  sealSeq: 7,
};

const work: LeafWork = {
  op: "leaf",
  leaf,
  samplesMax: 50,
  shard: 1,
  shardCount: 4,
  segments: [segment],
  head: {
    snapshot: {
      url: "http://127.0.0.1:1",
      incarnation: "i",
      appendSeq: 9,
      minTs: 0,
      maxTs: 9,
      sampleCount: 3,
      seriesCount: 1,
    },
    minMs: 0,
    maxMs: 10,
  },
};

test("[QP1] a work is what it was", () => {
  const { bounds: _bounds, ...rest } = leaf;
  assert.deepStrictEqual(parseWork(encodeWork(work)), { ...work, leaf: rest });
});

const refusals: readonly [name: string, body: string][] = [
  ["no JSON", "{"],
  ["null", "null"],
  ["another version", encodeWork(work).replace('"v":1', '"v":2')],
  ["an operation that nobody knows", encodeWork(work).replace('"op":"leaf"', '"op":"drop"')],
  ["a shard that does not exist", encodeWork({ ...work, shard: 4 })],
  [
    "a path out of the lake",
    encodeWork({ ...work, segments: [{ ...segment, path: "a/../../b" }] }),
  ],
  ["an absolute path", encodeWork({ ...work, segments: [{ ...segment, path: "/etc" }] })],
];
for (const [name, body] of refusals) {
  test(`[QP1] ${name} is refused`, () => {
    assert.throws(
      () => parseWork(body),
      (thrown) => thrown instanceof OperatingError && thrown.code === "bad_request",
    );
  });
}
