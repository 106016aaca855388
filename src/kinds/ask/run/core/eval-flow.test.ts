import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type BaseExpr,
  Labels,
  type LeafResult,
  type StepSeries,
} from "../../promql/core/index.ts";
import { EvalFlow } from "./eval-flow.ts";

const leaf: BaseExpr = {
  matchers: [],
  grid: { startMs: 0, endMs: 0, stepMs: 1 },
  rangeMs: undefined,
  offsetMs: 0,
  lookbackMs: 1,
  bounds: undefined,
  useStartTs: false,
  output: { kind: "steps", call: undefined },
};

function resultOf(name: string): LeafResult {
  const series: StepSeries = {
    labels: Labels.of({ name }),
    dropName: false,
    kinds: Uint8Array.of(1),
    values: Float64Array.of(1),
    histograms: undefined,
  };
  return {
    kind: "steps",
    series: [series],
    annotations: [],
    stats: { seriesCount: 1, sampleCount: 1 },
  };
}

function namesOf(results: readonly LeafResult[]): string {
  return results
    .map(({ series }) => series.map(({ labels }) => labels.get("name")).join(""))
    .join("|");
}

function flowOf(resultCounts: readonly (readonly number[])[]): {
  readonly flow: EvalFlow<string>;
  readonly told: string[];
} {
  const told: string[] = [];
  const flow = new EvalFlow<string>({
    spans: resultCounts.map((counts) => counts.map((resultCount) => ({ leaf, resultCount }))),
    evaluate: (_span, results) => namesOf(results),
    onResult: (span, result) => told.push(`${span}:${result}`),
  });
  flow.start();
  return { flow, told };
}

test("[QP7] spans are evaluated in time order, whatever the order of arrival", () => {
  const { flow, told } = flowOf([
    [2, 1],
    [1, 0],
  ]);
  flow.add(1, 0, 0, resultOf("d"));
  flow.add(0, 1, 0, resultOf("c"));
  flow.add(0, 0, 1, resultOf("b"));
  assert.deepEqual([told, flow.isDone], [[], false]);
  flow.add(0, 0, 0, resultOf("a"));
  assert.deepEqual([told, flow.isDone], [["0:ab|c", "1:d|"], true]);
});

test("[QP3] leaves without works are empty, and need no result", () => {
  const { flow, told } = flowOf([[0, 0]]);
  assert.deepEqual([told, flow.isDone], [["0:|"], true]);
});

test("[QP2] a result that comes twice is our mistake", () => {
  const { flow } = flowOf([[2]]);
  flow.add(0, 0, 0, resultOf("a"));
  assert.throws(() => flow.add(0, 0, 0, resultOf("a")), /comes once/);
  assert.throws(() => flow.add(3, 0, 0, resultOf("a")), /belongs to a leaf/);
});
