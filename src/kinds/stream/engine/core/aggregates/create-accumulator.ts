/** The accumulator of a call of an aggregate, by its function and the type of its argument. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import {
  type AggregateCall,
  type DataType,
  isFloat,
  type Schema,
} from "../../../language/core/index.ts";
import { whereTrue } from "../tables/load-values.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { CountAccumulator } from "./count.ts";
import { DistinctAccumulator } from "./distinct.ts";
import { createExtreme } from "./extremes.ts";
import { MedianAccumulator } from "./median.ts";
import { PickAccumulator } from "./pick.ts";
import { FloatSumAccumulator } from "./sum-floats.ts";
import { IntegerSumAccumulator } from "./sum-integers.ts";
import { VarianceAccumulator } from "./variance.ts";

/** `time` is the column of the event time, for FIRST and LAST. */
export function createAccumulator(call: AggregateCall, input: Schema, time: number): Accumulator {
  const { arg, fn } = call;
  if (arg === undefined) return new CountAccumulator(undefined);
  const type = input[arg]?.type;
  assert(type !== undefined, `the argument of ${fn} is a column of its input`);
  // The least, the greatest, the first and the last of different values are those of all values.
  const ignoresDistinct = fn === "min" || fn === "max" || fn === "first" || fn === "last";
  if (!call.distinct || ignoresDistinct) return createPlain(fn, arg, type, time);
  return new DistinctAccumulator(arg, type, (column) => createPlain(fn, column, type, time));
}

function createPlain(
  fn: AggregateCall["fn"],
  arg: number,
  type: DataType,
  time: number,
): Accumulator {
  switch (fn) {
    case "count_all":
      return new CountAccumulator(undefined);
    case "count":
      return new CountAccumulator(arg);
    case "sum":
    case "avg":
      return isFloat(type.name)
        ? new FloatSumAccumulator(arg, fn)
        : new IntegerSumAccumulator(arg, fn);
    case "min":
    case "max":
      return type.name === "VARSIZED"
        ? new PickAccumulator(arg, type, time, fn)
        : createExtreme(arg, type.name, fn);
    case "median":
      return new MedianAccumulator(arg);
    case "stddev_samp":
    case "stddev_pop":
    case "var_samp":
    case "var_pop":
      return new VarianceAccumulator(arg, fn);
    case "first":
    case "last":
      return new PickAccumulator(arg, type, time, fn);
  }
}

/** Whether the results of slices can be put together from their results only by going over all. */
export function needsAllValues({ fn, distinct }: AggregateCall): boolean {
  return fn === "median" || (distinct && fn !== "min" && fn !== "max");
}

/** The rows that an aggregate with a filter takes. */
export function filterRows(call: AggregateCall, input: AggregateInput): AggregateInput {
  const view = call.filter === undefined ? undefined : input.views[call.filter];
  if (view === undefined) return input;
  return { ...whereTrue(view, input), views: input.views, rowCount: input.rowCount };
}
