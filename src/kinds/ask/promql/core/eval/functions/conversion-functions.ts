/** Conversions between scalars, vectors and times. */
import { Labels } from "../../labels.ts";
import { type StepSeries, stepAbsent, stepCount, stepFloat } from "../../model.ts";
import { stepTimes } from "../step-columns.ts";
import { scalarAt, vectorAt } from "./arguments.ts";
import { maxOf, minOf } from "./math-functions.ts";
import { floatSeries, unnamed, vectorOf } from "./results.ts";
import type { InstantFunction } from "./types.ts";

/** The value of the only float at a step; NaN when there is none or more than one. */
const scalar: InstantFunction = (args, { grid }) => {
  const values = new Float64Array(stepCount(grid)).fill(Number.NaN);
  const found = new Uint8Array(values.length);
  for (const series of vectorAt(args, 0)) {
    for (let step = 0; step < values.length; step += 1) {
      if (series.kinds[step] !== stepFloat) continue;
      values[step] = found[step] === 0 ? (series.values[step] as number) : Number.NaN;
      found[step] = 1;
    }
  }
  return { type: "scalar", values };
};

const vector: InstantFunction = (args) => {
  const values = scalarAt(args, 0);
  const kinds = new Uint8Array(values.length).fill(stepFloat);
  const series = { labels: Labels.empty, dropName: false, kinds, values, histograms: undefined };
  return { type: "vector", series: [series] };
};

const time: InstantFunction = (_, { grid }) => ({
  type: "scalar",
  values: stepTimes(grid).map((ms) => ms / 1_000),
});

const pi: InstantFunction = (_, { grid }) => ({
  type: "scalar",
  values: new Float64Array(stepCount(grid)).fill(Math.PI),
});

/** For computed vectors: their samples have the time of the step. */
const timestamp: InstantFunction = (args, context) => {
  const seconds = stepTimes(context.grid).map((ms) => ms / 1_000);
  const stamped = vectorAt(args, 0).map((one): StepSeries => {
    const kinds = one.kinds.map((kind) => (kind === stepAbsent ? stepAbsent : stepFloat));
    return floatSeries(unnamed(one.labels, context), context, kinds, seconds);
  });
  return vectorOf(stamped);
};

/** For computed vectors: they have no start timestamps. */
const startTimestamp: InstantFunction = () => ({ type: "vector", series: [] });

function ofTwoScalars(compute: (a: number, b: number) => number): InstantFunction {
  return (args) => {
    const right = scalarAt(args, 1);
    const values = scalarAt(args, 0).map((left, step) => compute(left, right[step] as number));
    return { type: "scalar", values };
  };
}

export const conversionFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] =
  [
    ["max_of", ofTwoScalars(maxOf)],
    ["min_of", ofTwoScalars(minOf)],
    ["pi", pi],
    ["scalar", scalar],
    ["start_timestamp", startTimestamp],
    ["time", time],
    ["timestamp", timestamp],
    ["vector", vector],
  ];
