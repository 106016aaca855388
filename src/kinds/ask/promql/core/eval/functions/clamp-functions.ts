/** clamp, clamp_min and clamp_max. */
import { type StepSeries, stepFloat } from "../../model.ts";
import { hasSample } from "../step-columns.ts";
import { scalarAt, vectorAt } from "./arguments.ts";
import { maxOf, minOf } from "./math-functions.ts";
import { floatSeries, unnamed, vectorOf } from "./results.ts";
import type { InstantContext, InstantFunction, InstantResult } from "./types.ts";

/** A step whose bounds cross has no result. */
function clamp(
  series: readonly StepSeries[],
  least: (step: number) => number,
  greatest: (step: number) => number,
  context: InstantContext,
): InstantResult {
  const clamped: StepSeries[] = [];
  for (const one of series) {
    const kinds = new Uint8Array(one.kinds.length);
    const values = new Float64Array(one.kinds.length);
    for (let step = 0; step < kinds.length; step += 1) {
      if (one.kinds[step] !== stepFloat) continue;
      const low = least(step);
      const high = greatest(step);
      if (high < low) continue;
      kinds[step] = stepFloat;
      values[step] = maxOf(low, minOf(high, one.values[step] as number));
    }
    if (hasSample(kinds)) {
      clamped.push(floatSeries(unnamed(one.labels, context), context, kinds, values));
    }
  }
  return vectorOf(clamped);
}

const minusInfinity = (): number => Number.NEGATIVE_INFINITY;
const infinity = (): number => Number.POSITIVE_INFINITY;
const valueAt =
  (values: Float64Array) =>
  (step: number): number =>
    values[step] as number;

export const clampFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] = [
  [
    "clamp",
    (args, context) =>
      clamp(vectorAt(args, 0), valueAt(scalarAt(args, 1)), valueAt(scalarAt(args, 2)), context),
  ],
  [
    "clamp_max",
    (args, context) => clamp(vectorAt(args, 0), minusInfinity, valueAt(scalarAt(args, 1)), context),
  ],
  [
    "clamp_min",
    (args, context) => clamp(vectorAt(args, 0), valueAt(scalarAt(args, 1)), infinity, context),
  ],
];
