/** Aggregates a vector by group. `select-k.ts` has the operations that keep whole samples. */
import { annotate, histogramIgnoredInAggregation, invalidQuantile } from "../annotations.ts";
import type { FloatAggregation } from "../ast.ts";
import { stepBytes } from "../held-memory.ts";
import type { Position, StepSeries } from "../model.ts";
import { aggregateFloats, quantilesOf } from "./aggregate-floats.ts";
import { aggregateMixed } from "./aggregate-mixed.ts";
import type { EvalContext } from "./exec-node.ts";
import { anyDropsName, type Grouping, groupSeries, type SeriesGroup } from "./grouped-series.ts";
import { hasHistograms, hasSample, type StepColumns, seriesOf } from "./step-columns.ts";

export interface AggregateSpec {
  readonly op: FloatAggregation | "quantile";
  readonly grouping: Grouping;
  readonly steps: number;
  /** The position of the aggregated expression. */
  readonly inputPosition: Position;
  readonly paramPosition: Position;
}

/** `params` has one value per step; only `quantile` reads it. */
export function aggregateVector(
  spec: AggregateSpec,
  params: Float64Array | undefined,
  series: readonly StepSeries[],
  context: EvalContext,
): readonly StepSeries[] {
  if (spec.op === "quantile") noteQuantiles(spec, params ?? new Float64Array(0), context);
  if (ignoresHistograms(spec.op) && series.some(hasHistograms)) {
    annotate(context.annotations, histogramIgnoredInAggregation(spec.op), spec.inputPosition);
  }
  const results: StepSeries[] = [];
  const groups = groupSeries(series, spec.grouping);
  context.budget.expect(groups.length * spec.steps * stepBytes);
  for (const group of groups) {
    const columns = aggregateGroup(spec, params, group, context);
    if (!hasSample(columns.kinds)) continue;
    results.push(seriesOf(group.labels, anyDropsName(group.members), columns));
  }
  return results;
}

function aggregateGroup(
  { op, steps, inputPosition }: AggregateSpec,
  params: Float64Array | undefined,
  { members }: SeriesGroup,
  context: EvalContext,
): StepColumns {
  if (op === "quantile") return quantilesOf(params ?? new Float64Array(steps), members);
  if ((op === "sum" || op === "avg") && members.some(hasHistograms)) {
    const floats = aggregateFloats(op, members, steps);
    const group = { floats, elsewhere: undefined, members };
    return aggregateMixed(op, group, context.annotations, inputPosition);
  }
  return aggregateFloats(op, members, steps);
}

export function ignoresHistograms(op: string): boolean {
  return ["min", "max", "stddev", "stdvar", "quantile"].includes(op);
}

function noteQuantiles(
  { paramPosition }: AggregateSpec,
  params: Float64Array,
  { annotations }: EvalContext,
): void {
  const max = params.reduce((a, b) => Math.max(a, b), -Number.MAX_VALUE);
  const min = params.reduce((a, b) => Math.min(a, b), Number.MAX_VALUE);
  for (const bad of [
    ...(params.some(Number.isNaN) ? [Number.NaN] : []),
    ...(max > 1 ? [max] : []),
    ...(min < 0 ? [min] : []),
  ]) {
    annotate(annotations, invalidQuantile(bad), paramPosition);
  }
}
