/**
 * Finishes the result of an operation: series with equal labels are merged, and it is an error if
 * both have a sample at a step. At a single step, where the order matters, names that are not
 * removed yet may still differ, so the end of the evaluation decides.
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

/** For functions of range vectors: no two series may be equal after their names are removed. */
export function finishRangeCall(series: readonly StepSeries[], context: EvalContext): VectorValue {
  if (context.options.delayedNameRemoval) return { type: "vector", series };
  const named = dropNamesNow(series, false);
  refuseDuplicates(named);
  return { type: "vector", series: named };
}
