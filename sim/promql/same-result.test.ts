import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Annotation,
  type FloatHistogram,
  Labels,
  type QueryResult,
  type StepSeries,
} from "../../src/kinds/ask/promql/core/index.ts";
import { testHistogram } from "../../src/kinds/ask/promql/core/testing/raw-series.ts";
import { findDifference } from "./same-result.ts";

type Point = number | FloatHistogram | undefined;

function seriesOf(name: string, points: readonly Point[]): StepSeries {
  const histograms = points.map((point) => (typeof point === "object" ? point : undefined));
  return {
    labels: Labels.of({ name }),
    dropName: false,
    kinds: Uint8Array.from(points, (point) =>
      point === undefined ? 0 : typeof point === "number" ? 1 : 2,
    ),
    values: Float64Array.from(points, (point) => (typeof point === "number" ? point : 7)),
    histograms: histograms.some((each) => each !== undefined) ? histograms : undefined,
  };
}

function spanOf(
  startMs: number,
  steps: number,
  byName: Readonly<Record<string, readonly Point[]>>,
  annotations: readonly Annotation[] = [],
): QueryResult {
  const grid = { startMs, endMs: startMs + (steps - 1) * 10, stepMs: 10 };
  const series = Object.entries(byName).map(([name, points]) => seriesOf(name, points));
  return { type: "vector", grid, series, annotations };
}

const histogram = testHistogram([1, 2]);
const note: Annotation = { level: "info", message: "odd", position: { start: 0, end: 3 } };
const want = spanOf(0, 4, { a: [1, 2, 3, -0], b: [undefined, histogram, undefined, 4] }, [note]);

const cases: readonly { name: string; got: readonly QueryResult[]; finds: RegExp | undefined }[] = [
  { name: "itself", got: [want], finds: undefined },
  {
    name: "its spans, a series of which begins later",
    got: [
      spanOf(0, 1, { a: [1] }, [note]),
      spanOf(10, 3, { a: [2, 3, -0], b: [histogram, undefined, 4] }, [note]),
    ],
    finds: undefined,
  },
  { name: "nothing", got: [], finds: /no result/ },
  {
    name: "a missing span",
    got: [spanOf(0, 2, { a: [1, 2] }, [note])],
    finds: /2 steps instead of 4/,
  },
  {
    name: "a missing series",
    got: [spanOf(0, 4, { a: [1, 2, 3, -0] }, [note])],
    finds: /series 1 is missing/,
  },
  {
    name: "another order",
    got: [spanOf(0, 4, { b: [undefined, histogram, undefined, 4], a: [1, 2, 3, -0] }, [note])],
    finds: /series 0 is/,
  },
  {
    name: "another bit",
    got: [
      spanOf(
        0,
        4,
        { a: [1, 2 + Number.EPSILON * 2, 3, -0], b: [undefined, histogram, undefined, 4] },
        [note],
      ),
    ],
    finds: /2\.0000000000000004/,
  },
  {
    name: "the sign of zero",
    got: [spanOf(0, 4, { a: [1, 2, 3, 0], b: [undefined, histogram, undefined, 4] }, [note])],
    finds: /=-0/,
  },
  {
    name: "another bucket",
    got: [
      spanOf(0, 4, { a: [1, 2, 3, -0], b: [undefined, testHistogram([1, 3]), undefined, 4] }, [
        note,
      ]),
    ],
    finds: /positiveBuckets/,
  },
  {
    name: "no annotation",
    got: [spanOf(0, 4, { a: [1, 2, 3, -0], b: [undefined, histogram, undefined, 4] })],
    finds: /odd/,
  },
  {
    name: "another type",
    got: [{ type: "string", text: "", annotations: [] }],
    finds: /a string instead of a vector/,
  },
];

for (const { name, got, finds } of cases) {
  test(`${finds === undefined ? "the same" : "another answer"}: ${name}`, () => {
    const difference = findDifference(got, want);
    if (finds === undefined) assert.equal(difference, undefined);
    else assert.match(difference ?? "the same", finds);
  });
}
