import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AnnotationSet } from "../annotations.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type SampleColumns, stepAbsent, stepCount, stepFloat } from "../model.ts";
import {
  type InstantSelection,
  type Selected,
  selectInstant,
  selectSmoothed,
} from "./select-instant.ts";
import { samples, windows } from "./testing/arbitraries.ts";
import { columns, custom, exponential, type Point } from "./testing/one-window.ts";
import type { MutableSteps } from "./types.ts";

type Value = number | FloatHistogram | undefined;

function valuesOf({ kinds, values, histograms }: MutableSteps): Value[] {
  return Array.from(kinds, (kind, step) => {
    if (kind === stepAbsent) return undefined;
    return kind === stepFloat ? values[step] : histograms?.[step];
  });
}

function emptySteps(selection: InstantSelection): MutableSteps {
  const steps = stepCount(selection.grid);
  return { kinds: new Uint8Array(steps), values: new Float64Array(steps), histograms: undefined };
}

function select(
  of: SampleColumns,
  selection: InstantSelection,
  selected: Selected = "value",
): Value[] {
  const out = emptySteps(selection);
  selectInstant(of, selection, selected, out);
  return valuesOf(out);
}

/** Every 10 s from 0 to 60 s, with a lookback of 20 s. */
const minute: InstantSelection = {
  grid: { startMs: 0, endMs: 60_000, stepMs: 10_000 },
  offsetMs: 0,
  lookbackMs: 20_000,
};
const no = undefined;

const cases: readonly {
  name: string;
  points: readonly Point[];
  selection?: InstantSelection;
  selected?: Selected;
  want: readonly Value[];
}[] = [
  {
    name: "[KL10] a value lasts for less than the lookback",
    points: [[10, 1]],
    want: [no, 1, 1, no, no, no, no],
  },
  {
    name: "[KL10] the last one counts",
    points: [
      [10, 1],
      [15, 2],
      [20, 3],
    ],
    want: [no, 1, 3, 3, no, no, no],
  },
  {
    name: "[KL10] a stale marker ends it at once",
    points: [
      [10, 1],
      [20, "stale"],
      [40, 4],
    ],
    want: [no, 1, no, no, 4, 4, no],
  },
  {
    name: "[KL10] an offset looks at earlier times",
    points: [[10, 1]],
    selection: { ...minute, offsetMs: 30_000 },
    want: [no, no, no, no, 1, 1, no],
  },
  {
    name: "[KL10] timestamp is the sample's own",
    points: [
      [10, 7],
      [15, 7],
    ],
    selected: "timestamp",
    want: [no, 10, 15, 15, no, no, no],
  },
  {
    name: "[KL10] timestamp of a histogram too",
    points: [[10, exponential([1])]],
    selected: "timestamp",
    want: [no, 10, 10, no, no, no, no],
  },
  {
    name: "[KL10] start_timestamp",
    points: [[10, 7, 2]],
    selected: "start_timestamp",
    want: [no, 2, 2, no, no, no, no],
  },
  {
    name: "[KL10] start_timestamp, unknown",
    points: [[10, 7]],
    selected: "start_timestamp",
    want: [no, 0, 0, no, no, no, no],
  },
  {
    name: "[KL10] histograms beside floats",
    points: [
      [10, exponential([1])],
      [20, 5],
    ],
    want: [no, exponential([1]), 5, 5, no, no, no],
  },
];
for (const { name, points, selection = minute, selected, want } of cases) {
  test(name, () => assert.deepEqual(select(columns(points), selection, selected), want));
}

test("[KL10] what is selected is the last sample of each lookback, unless stale", () => {
  const everything = { stale: true, histograms: true, starts: true };
  fc.assert(
    fc.property(samples(everything), windows, (of, { grid, offsetMs, lookbackMs }) => {
      const want = Array.from({ length: stepCount(grid) }, (_, step): Value => {
        const at = grid.startMs + step * grid.stepMs - offsetMs;
        const last = of.ts.findLastIndex((t) => t <= at && t > at - lookbackMs);
        if (last === -1 || of.stale?.[last] === 1) return undefined;
        return of.histograms?.[last] ?? of.values[last];
      });
      assert.deepEqual(select(of, { grid, offsetMs, lookbackMs }), want);
    }),
    { numRuns: 200 },
  );
});

function smooth(points: readonly Point[]): { values: Value[]; notes: string[] } {
  const out = emptySteps(minute);
  const annotations = new AnnotationSet();
  selectSmoothed(columns(points), minute, "x", out, annotations);
  const notes = annotations.entries();
  assert.ok(notes.every(({ place }) => place === "call"));
  return { values: valuesOf(out), notes: notes.map(({ message }) => message) };
}

const smoothed: readonly { name: string; points: readonly Point[]; want: readonly Value[] }[] = [
  {
    name: "between two",
    points: [
      [5, 10],
      [25, 30],
    ],
    want: [no, 15, 25, 30, 30, no, no],
  },
  {
    name: "on one",
    points: [
      [10, 1],
      [20, 5],
    ],
    want: [no, 1, 5, 5, no, no, no],
  },
  {
    name: "a fall is no reset",
    points: [
      [5, 30],
      [25, 10],
    ],
    want: [no, 25, 15, 10, 10, no, no],
  },
  {
    name: "stale markers are not seen",
    points: [
      [5, 10],
      [15, "stale"],
      [25, 30],
    ],
    want: [no, 15, 25, 30, 30, no, no],
  },
  {
    name: "histograms",
    points: [
      [5, exponential([10])],
      [15, exponential([30])],
    ],
    want: [no, exponential([20]), exponential([30]), exponential([30]), no, no, no],
  },
  {
    name: "histograms across a reset",
    points: [
      [5, exponential([50])],
      [15, exponential([30])],
    ],
    want: [no, exponential([15]), exponential([30]), exponential([30]), no, no, no],
  },
];
for (const { name, points, want } of smoothed) {
  test(`[KL11] smoothed: ${name}`, () => assert.deepEqual(smooth(points).values, want));
}

test("[KL11] smoothed says what does not fit together", () => {
  assert.deepEqual(
    smooth([
      [5, 1],
      [15, exponential([30])],
    ]).notes,
    [`encountered a mix of histograms and floats for metric name "x"`],
  );
  assert.deepEqual(
    smooth([
      [5, custom([1])],
      [15, exponential([30])],
    ]).notes,
    [
      `vector contains a mix of histograms with exponential and custom buckets schemas for metric name "x"`,
    ],
  );
});
