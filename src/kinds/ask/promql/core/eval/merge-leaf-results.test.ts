import assert from "node:assert/strict";
import { test } from "node:test";
import { Labels } from "../labels.ts";
import type { BaseExpr, LeafAggregate, LeafResult, PartialGroup, PartialOp } from "../leaf.ts";
import { instantGrid, type StepSeries } from "../model.ts";
import { mergeLeafResults } from "./merge-leaf-results.ts";

const stepsLeaf: BaseExpr = {
  matchers: [],
  grid: instantGrid(0),
  rangeMs: undefined,
  offsetMs: 0,
  lookbackMs: 300_000,
  bounds: undefined,
  useStartTs: false,
  output: { kind: "steps", call: undefined },
};

function partialsLeaf(op: PartialOp): BaseExpr {
  const aggregate: LeafAggregate = { op, grouping: ["g"], without: false, k: undefined };
  return { ...stepsLeaf, output: { kind: "partials", call: undefined, aggregate } };
}

function oneStep(i: string, value: number): StepSeries {
  return {
    labels: Labels.of({ i }),
    dropName: false,
    kinds: Uint8Array.of(1),
    values: Float64Array.of(value),
    histograms: undefined,
  };
}

function group(g: string, count: number, value?: number, lost?: number): PartialGroup {
  return {
    labels: Labels.of({ g }),
    dropName: false,
    counts: Float64Array.of(count),
    values: value === undefined ? undefined : Float64Array.of(value),
    compensations: lost === undefined ? undefined : Float64Array.of(lost),
  };
}

const nothing = { annotations: [], stats: { seriesCount: 1, sampleCount: 10 } };
const steps = (...series: StepSeries[]): LeafResult => ({ kind: "steps", series, ...nothing });
const partials = (...groups: PartialGroup[]): LeafResult => ({
  kind: "partials",
  groups,
  series: [],
  ...nothing,
});

function mergedGroups(op: PartialOp, ...results: LeafResult[]): PartialGroup[] {
  const merged = mergeLeafResults(partialsLeaf(op), results);
  assert.ok(merged.kind === "partials");
  return [...merged.groups];
}

test("[PE25] the series of all shards come in the order of their labels", () => {
  const merged = mergeLeafResults(stepsLeaf, [
    steps(oneStep("b", 2), oneStep("e", 5)),
    steps(),
    steps(oneStep("a", 1), oneStep("d", 4), oneStep("f", 6)),
    steps(oneStep("c", 3)),
  ]);
  assert.ok(merged.kind === "steps");
  assert.deepEqual(
    merged.series.map(({ values }) => values[0]),
    [1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(merged.stats, { seriesCount: 4, sampleCount: 40 });
});

test("[PE25] no shard at all is an empty result", () => {
  assert.deepEqual(mergeLeafResults(stepsLeaf, []), {
    kind: "steps",
    series: [],
    annotations: [],
    stats: { seriesCount: 0, sampleCount: 0 },
  });
});

test("[PE25] annotations of several shards are said once, their figures added up", () => {
  const noted = (occurrences: string): LeafResult => ({
    ...steps(),
    annotations: [
      { level: "info", message: "the same", place: 0 },
      {
        level: "warning",
        message: `sample has start time that overlaps with previous sample timestamp for metric "m"${occurrences}`,
        place: "call",
      },
    ],
  });
  const merged = mergeLeafResults(stepsLeaf, [noted(""), noted(" (3 occurrences)")]);
  assert.deepEqual(
    merged.annotations.map(({ message }) => message.slice(-16)),
    ["the same", "(4 occurrences)".padStart(16)].map((text) => text.slice(-16)),
  );
});

const merges: readonly [PartialOp, PartialGroup, PartialGroup, want: number][] = [
  ["min", group("x", 1, 3), group("x", 1, 2), 2],
  ["max", group("x", 1, 3), group("x", 1, Number.NaN), 3],
  ["max", group("x", 1, Number.NaN), group("x", 1, -5), -5],
  ["min", group("x", 0, 0), group("x", 1, 7), 7],
  ["max", group("x", 1, -7), group("x", 0, 0), -7],
  ["sum", group("x", 0, 0, 0), group("x", 1, -0, 0), -0],
];
for (const [op, a, b, want] of merges) {
  test(`[PE26] ${op} of ${a.values?.[0]} and ${b.values?.[0]} is ${want}`, () => {
    const [merged] = mergedGroups(op, partials(a), partials(b));
    assert.ok(Object.is(merged?.values?.[0], want));
  });
}

test("[PE26] counts add up", () => {
  const [x, y] = mergedGroups(
    "count",
    partials(group("x", 2), group("y", 1)),
    partials(group("x", 3)),
  );
  assert.deepEqual([x?.counts[0], y?.counts[0]], [5, 1]);
});

test("[PE26] a sum keeps what its parts lost, and what merging loses", () => {
  const [merged] = mergedGroups(
    "sum",
    partials(group("x", 3, 1e100, 1)),
    partials(group("x", 1, -1e100, 0.5)),
  );
  assert.equal((merged?.values?.[0] as number) + (merged?.compensations?.[0] as number), 1.5);
});

test("[PE26] sums behind an average that would overflow stay apart", () => {
  const merged = mergedGroups(
    "avg",
    partials(group("x", 1, 1.5e308, 0)),
    partials(group("x", 1, 1.5e308, 0)),
    partials(group("x", 1, -1e308, 0)),
  );
  assert.deepEqual(
    merged.map(({ values }) => values?.[0]),
    [0.5e308, 1.5e308],
  );
});
