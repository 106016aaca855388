/** Nodes whose values workers computed, or whose samples they fetched. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type HeldMemory, stepBytes } from "../held-memory.ts";
import { executeLeaf } from "../leaf/execute-leaf.ts";
import type { BaseExpr, LeafAggregate, LeafResult } from "../leaf.ts";
import { type Position, type StepSeries, stepCount } from "../model.ts";
import { addLeafAnnotations, type CallPlaces } from "./call-places.ts";
import { type EvalContext, ExecNode, type MatrixNode, type VectorNode } from "./exec-node.ts";
import { finishPartials } from "./finish-partials.ts";
import { finishRangeCall, finishVector } from "./finish-vector.ts";
import { dropNamesNow } from "./result-labels.ts";
import { selectSeries } from "./select-k.ts";

export interface LeafUse {
  /** The index among the plan's leaves. */
  readonly index: number;
  /** The leaf itself, or what is computed here from its raw samples. */
  readonly wanted: BaseExpr;
  readonly text: string;
  readonly places: CallPlaces;
}

/** A selector, or a function of its windows, at every step. */
export function leafVectorNode(use: LeafUse, singleStep: boolean): VectorNode {
  return new ExecNode(leafText(use), [], (context) => {
    const result = stepsOf(use, context);
    addLeafAnnotations(context.annotations, result.annotations, use.places);
    if (context.options.delayedNameRemoval || use.wanted.rangeMs !== undefined) {
      return finishRangeCall(result.series, context);
    }
    return finishVector(dropNamesNow(result.series, false), singleStep, context);
  });
}

function leafText({ index, text }: LeafUse): string {
  return `leaf ${index}: ${text}`;
}

function stepsOf(
  { index, wanted }: LeafUse,
  context: EvalContext,
): Extract<LeafResult, { kind: "steps" }> {
  const found = resultOf(index, context);
  const { samplesMax, labelBytesMax } = context.options;
  const limits = { samplesMax, labelBytesMax, memory: expecting(context) };
  const result = found.kind === "raw" ? executeLeaf(wanted, found.series, limits) : found;
  assert(result.kind === "steps", "a leaf of steps has a result of steps");
  return result;
}

/** Checks for memory that a leaf needs here. The result is counted like that of every node. */
function expecting({ budget }: EvalContext): HeldMemory {
  let bytes = 0;
  return {
    take(more) {
      bytes += more;
      budget.expect(bytes);
    },
    give(less) {
      bytes -= less;
    },
  };
}

function resultOf(index: number, { leaves }: EvalContext): LeafResult {
  const result = leaves[index];
  assert(result !== undefined, "every leaf of the plan has a result");
  return result;
}

export interface LeafAggregateSpec {
  readonly aggregate: LeafAggregate;
  readonly singleStep: boolean;
  /** The position of the aggregation; `inputPosition` is that of its operand. */
  readonly position: Position;
  readonly inputPosition: Position;
  readonly paramPosition: Position;
}

/** A leaf that was aggregated within each shard. */
export function leafAggregateNode(use: LeafUse, spec: LeafAggregateSpec): VectorNode {
  return new ExecNode(leafText(use), [], (context) => {
    const { aggregate, inputPosition } = spec;
    const result = resultOf(use.index, context);
    assert(result.kind === "partials", "an aggregated leaf has partial results");
    addLeafAnnotations(context.annotations, result.annotations, use.places);
    const steps = stepCount(use.wanted.grid);
    const { op } = aggregate;
    if (op === "topk" || op === "bottomk") {
      return { type: "vector", series: selectBest(op, spec, result.series, steps, context) };
    }
    context.budget.expect((result.groups.length + result.series.length) * steps * stepBytes);
    const series = finishPartials({ op, aggregate, steps, inputPosition }, result, context);
    return { type: "vector", series };
  });
}

function selectBest(
  op: "topk" | "bottomk",
  { aggregate, singleStep, position, paramPosition }: LeafAggregateSpec,
  candidates: readonly StepSeries[],
  steps: number,
  context: EvalContext,
): readonly StepSeries[] {
  const grouping = { names: aggregate.grouping, without: aggregate.without };
  const counts = new Float64Array(steps).fill(aggregate.k ?? 0);
  const named = dropNamesNow(candidates, context.options.delayedNameRemoval);
  return selectSeries(
    { op, grouping, singleStep, position, paramPosition },
    counts,
    named,
    context,
  );
}

/** A selector's samples. */
export function leafSamplesNode(use: LeafUse): MatrixNode {
  return new ExecNode(leafText(use), [], (context) => {
    const result = resultOf(use.index, context);
    assert(result.kind === "raw", "a raw leaf has samples");
    const series = result.series.map(({ labels, samples }) => ({
      labels,
      dropName: false,
      samples,
    }));
    return { type: "matrix", series };
  });
}
