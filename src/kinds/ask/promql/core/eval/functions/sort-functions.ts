/**
 * Functions that sort a vector. They affect instant queries only: range results are in label order.
 */
import { annotate, sortInRangeQuery } from "../../annotations.ts";
import { compareLabels } from "../../labels.ts";
import type { StepSeries } from "../../model.ts";
import { stringsFrom, vectorAt } from "./arguments.ts";
import { precedesNaturally } from "./natural-order.ts";
import { onlyFloats } from "./results.ts";
import type { InstantContext, InstantFunction, InstantResult } from "./types.ts";

function ordered(
  series: StepSeries[],
  compare: (a: StepSeries, b: StepSeries) => number,
  context: InstantContext,
): InstantResult {
  if (context.instant) series.sort(compare);
  else annotate(context.annotations, sortInRangeQuery(), "call");
  return { type: "vector", series };
}

/** NaN is last in both directions. */
function byValue(direction: 1 | -1): InstantFunction {
  const compare = (a: StepSeries, b: StepSeries): number => {
    const left = a.values[0] as number;
    const right = b.values[0] as number;
    if (Number.isNaN(left) || Number.isNaN(right)) {
      return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    }
    return left === right ? 0 : left < right ? -direction : direction;
  };
  return (args, context) => ordered(onlyFloats(vectorAt(args, 0)), compare, context);
}

/** Sorts by the named labels, then by all. */
function byLabels(direction: 1 | -1): InstantFunction {
  return (args, context) => {
    const names = stringsFrom(args, 1);
    const compare = (a: StepSeries, b: StepSeries): number => {
      for (const name of names) {
        const left = a.labels.get(name);
        const right = b.labels.get(name);
        if (left !== right) return precedesNaturally(left, right) ? -direction : direction;
      }
      return direction * compareLabels(a.labels, b.labels);
    };
    return ordered([...vectorAt(args, 0)], compare, context);
  };
}

export const sortFunctions: readonly (readonly [name: string, evaluate: InstantFunction])[] = [
  ["sort", byValue(1)],
  ["sort_desc", byValue(-1)],
  ["sort_by_label", byLabels(1)],
  ["sort_by_label_desc", byLabels(-1)],
];
