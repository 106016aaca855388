/**
 * Arguments of a call. The parser has checked their number and types, so another type is our bug.
 */
import { assert } from "../../../../../../ground/kernel/errors.ts";
import type { StepSeries } from "../../model.ts";
import type { InstantArg } from "./types.ts";

export function vectorAt(args: readonly InstantArg[], index: number): readonly StepSeries[] {
  const arg = args[index];
  assert(arg?.type === "vector", `argument ${index} is an instant vector`);
  return arg.series;
}

export function scalarAt(args: readonly InstantArg[], index: number): Float64Array {
  const arg = args[index];
  assert(arg?.type === "scalar", `argument ${index} is a scalar`);
  return arg.values;
}

export function stringAt(args: readonly InstantArg[], index: number): string {
  const arg = args[index];
  assert(arg?.type === "string", `argument ${index} is a string`);
  return arg.text;
}

export function stringsFrom(args: readonly InstantArg[], index: number): string[] {
  return args.slice(index).map((_, offset) => stringAt(args, index + offset));
}
