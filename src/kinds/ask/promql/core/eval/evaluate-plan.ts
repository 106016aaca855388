/** Evaluates a plan from the results of its leaves, then removes names and sorts. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { AnnotationSet } from "../annotations.ts";
import type { QueryPlan, QueryResult } from "../engine-types.ts";
import { type HeldMemory, unboundedMemory } from "../held-memory.ts";
import { compareLabels, type Labels } from "../labels.ts";
import type { LeafResult } from "../leaf.ts";
import type { Annotation, Position, RawSeries, StepSeries } from "../model.ts";
import type { EvalContext, NodeValue, RangeSeries } from "./exec-node.ts";
import { type ExecutablePlan, executablePlan } from "./executable-plan.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { mergeRangeDuplicates } from "./merge-range-duplicates.ts";
import { withoutMetadata } from "./result-labels.ts";
import { SampleBudget } from "./sample-budget.ts";
import { hasSample } from "./step-columns.ts";

/**
 * `leaves` has one result for every leaf of the plan, merged over its shards. What remains taken of
 * `memory` at the end belongs to the result.
 */
export function evaluatePlan(
  planned: QueryPlan,
  leaves: readonly LeafResult[],
  memory: HeldMemory = unboundedMemory,
): QueryResult {
  const plan = executablePlan(planned);
  assert(leaves.length === plan.leaves.length, "every leaf of the plan has a result");
  const { options } = plan;
  const notes = new AnnotationSet<Position>();
  const budget = new SampleBudget(options.samplesMax, options.labelBytesMax, memory);
  const context: EvalContext = { leaves, options, annotations: notes, budget };
  const value = plan.root.eval(context);
  return toResult(plan, value, annotationsOf(plan, notes));
}

function annotationsOf(plan: QueryPlan, notes: AnnotationSet<Position>): Annotation[] {
  const found = notes
    .entries()
    .map(({ level, message, place }) => ({ level, message, position: place }));
  return [...plan.annotations, ...found];
}

function toResult(
  plan: ExecutablePlan,
  value: NodeValue,
  annotations: readonly Annotation[],
): QueryResult {
  const { grid } = plan;
  switch (value.type) {
    case "string":
      return { type: "string", text: value.text, annotations };
    case "scalar":
      return { type: "scalar", grid, values: value.values, annotations };
    case "vector":
      return { type: "vector", grid, series: finishSeries(plan, value.series), annotations };
    case "matrix":
      return { type: "matrix", series: finishSamples(plan, value.series), annotations };
  }
}

function finishSeries(plan: ExecutablePlan, series: readonly StepSeries[]): readonly StepSeries[] {
  const named = dropNames(series, plan);
  const present = named.filter(({ kinds }) => hasSample(kinds));
  const merged = plan.options.delayedNameRemoval ? mergeDuplicates(present) : present;
  return plan.params.instant ? merged : inLabelOrder(merged);
}

function finishSamples(plan: ExecutablePlan, series: readonly RangeSeries[]): RawSeries[] {
  const named = dropNames(series, plan);
  const merged = plan.options.delayedNameRemoval ? mergeRangeDuplicates(named) : named;
  return inLabelOrder(merged).map(({ labels, samples }) => ({ labels, samples }));
}

function dropNames<S extends { readonly labels: Labels; readonly dropName: boolean }>(
  series: readonly S[],
  { options }: ExecutablePlan,
): readonly S[] {
  if (!options.delayedNameRemoval) return series;
  return series.map((one) =>
    one.dropName ? { ...one, labels: withoutMetadata(one.labels), dropName: false } : one,
  );
}

function inLabelOrder<S extends { readonly labels: Labels }>(series: readonly S[]): readonly S[] {
  return [...series].sort((a, b) => compareLabels(a.labels, b.labels));
}
