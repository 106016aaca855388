/** A function of instant vectors, scalars and strings. */
import type { Grid, StepSeries } from "../model.ts";
import { type CallPlaces, sinkAt } from "./call-places.ts";
import { type EvalContext, ExecNode, type ScalarNode, type VectorNode } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import type { InstantArg, InstantFunction, InstantResult } from "./functions/types.ts";
import { dropNamesNow } from "./result-labels.ts";
import { hasSample } from "./step-columns.ts";

export interface InstantCallSpec {
  readonly name: string;
  readonly apply: InstantFunction;
  readonly grid: Grid;
  readonly singleStep: boolean;
  readonly places: CallPlaces;
}

export function vectorCallNode(spec: InstantCallSpec, args: readonly ExecNode[]): VectorNode {
  return new ExecNode(spec.name, args, (context) => {
    const result = call(spec, args, context);
    const found: readonly StepSeries[] = result.type === "vector" ? result.series : [];
    const present = found.filter(({ kinds }) => hasSample(kinds));
    const series = dropNamesNow(present, context.options.delayedNameRemoval);
    return finishVector(series, spec.singleStep, context);
  });
}

export function scalarCallNode(spec: InstantCallSpec, args: readonly ExecNode[]): ScalarNode {
  return new ExecNode(spec.name, args, (context) => {
    const result = call(spec, args, context);
    const values = result.type === "scalar" ? result.values : new Float64Array(0);
    return { type: "scalar", values };
  });
}

function call(
  { apply, grid, singleStep, places }: InstantCallSpec,
  args: readonly ExecNode[],
  context: EvalContext,
): InstantResult {
  const values = args.map((arg) => arg.eval(context) as InstantArg);
  return apply(values, {
    grid,
    instant: singleStep,
    annotations: sinkAt(context.annotations, places),
    options: context.options,
    make: context.budget.make,
  });
}
