/**
 * What every operation that goes from step to step does with its result: equal labels become one series, which fails
 * where both have a sample. At a single step, where the order counts, names not yet removed may make the difference, and
 * the end decides.
 */
import type { StepSeries } from "../model.ts";
import type { EvalContext, VectorValue } from "./exec-node.ts";
import { mergeDuplicates, refuseDuplicates } from "./merge-duplicates.ts";
import { dropNamesNow } from "./result-labels.ts";

export function finishVector(
  series: readonly StepSeries[],
  singleStep: boolean,
  context: EvalContext,
): VectorValue {
  if (!singleStep) return { type: "vector", series: mergeDuplicates(series) };
  if (!context.options.delayedNameRemoval) refuseDuplicates(series);
  return { type: "vector", series };
}

/** Of functions of range vectors, which go from series to series: once names are gone, no two may be equal at all. */
export function finishRangeCall(series: readonly StepSeries[], context: EvalContext): VectorValue {
  if (context.options.delayedNameRemoval) return { type: "vector", series };
  const named = dropNamesNow(series, false);
  refuseDuplicates(named);
  return { type: "vector", series: named };
}
