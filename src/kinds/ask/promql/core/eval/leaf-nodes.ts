/** Nodes whose values workers computed, or whose samples they fetched. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type HeldMemory, stepBytes } from "../held-memory.ts";
import { executeLeaf } from "../leaf/execute-leaf.ts";
import type { BaseExpr, LeafAggregate, LeafResult } from "../leaf.ts";
import { type Position, type StepSeries, stepCount } from "../model.ts";
import { addLeafAnnotations, type CallPlaces } from "./call-places.ts";
import { type EvalContext, ExecNode, type MatrixValue, type VectorValue } from "./exec-node.ts";
import { finishPartials, type GroupedOp } from "./finish-partials.ts";
import { finishRangeCall, finishVector } from "./finish-vector.ts";
import { dropNamesNow } from "./result-labels.ts";
import { type SelectSpec, selectSeries } from "./select-k.ts";

export interface LeafUse {
  /** The index among the plan's leaves. */
  readonly index: number;
  /** The leaf itself, or what is computed here from its raw samples. */
  readonly wanted: BaseExpr;
  readonly text: string;
  readonly places: CallPlaces;
}

/** A selector, or a function of its windows, at every step. */
export class LeafVectorNode extends ExecNode<VectorValue> {
  readonly #use: LeafUse;
  readonly #singleStep: boolean;

  constructor(use: LeafUse, singleStep: boolean) {
    super();
    this.#use = use;
    this.#singleStep = singleStep;
  }

  protected override compute(context: EvalContext): VectorValue {
    const result = stepsOf(this.#use, context);
    addLeafAnnotations(context.annotations, result.annotations, this.#use.places);
    if (context.options.delayedNameRemoval || this.#use.wanted.rangeMs !== undefined) {
      return finishRangeCall(result.series, context);
    }
    return finishVector(dropNamesNow(result.series, false), this.#singleStep, context);
  }

  override describe(): string {
    return `leaf ${this.#use.index}: ${this.#use.text}`;
  }

  override children(): readonly ExecNode[] {
    return [];
  }
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
export class LeafAggregateNode extends ExecNode<VectorValue> {
  readonly #use: LeafUse;
  readonly #spec: LeafAggregateSpec;

  constructor(use: LeafUse, spec: LeafAggregateSpec) {
    super();
    this.#use = use;
    this.#spec = spec;
  }

  protected override compute(context: EvalContext): VectorValue {
    const { aggregate } = this.#spec;
    const result = resultOf(this.#use.index, context);
    assert(result.kind === "partials", "an aggregated leaf has partial results");
    addLeafAnnotations(context.annotations, result.annotations, this.#use.places);
    const steps = stepCount(this.#use.wanted.grid);
    if (aggregate.op === "topk" || aggregate.op === "bottomk") {
      return { type: "vector", series: this.#select(aggregate.op, result.series, steps, context) };
    }
    context.budget.expect((result.groups.length + result.series.length) * steps * stepBytes);
    const op: GroupedOp = aggregate.op;
    const { inputPosition } = this.#spec;
    const series = finishPartials({ op, aggregate, steps, inputPosition }, result, context);
    return { type: "vector", series };
  }

  #select(
    op: "topk" | "bottomk",
    candidates: readonly StepSeries[],
    steps: number,
    context: EvalContext,
  ): readonly StepSeries[] {
    const { aggregate, singleStep, position, paramPosition } = this.#spec;
    const grouping = { names: aggregate.grouping, without: aggregate.without };
    const spec: SelectSpec = { op, grouping, singleStep, position, paramPosition };
    const counts = new Float64Array(steps).fill(aggregate.k ?? 0);
    const named = dropNamesNow(candidates, context.options.delayedNameRemoval);
    return selectSeries(spec, counts, named, context);
  }

  override describe(): string {
    return `leaf ${this.#use.index}: ${this.#use.text}`;
  }

  override children(): readonly ExecNode[] {
    return [];
  }
}

/** A selector's samples. */
export class LeafSamplesNode extends ExecNode<MatrixValue> {
  readonly #use: LeafUse;

  constructor(use: LeafUse) {
    super();
    this.#use = use;
  }

  protected override compute(context: EvalContext): MatrixValue {
    const result = resultOf(this.#use.index, context);
    assert(result.kind === "raw", "a raw leaf has samples");
    const series = result.series.map(({ labels, samples }) => ({
      labels,
      dropName: false,
      samples,
    }));
    return { type: "matrix", series };
  }

  override describe(): string {
    return `leaf ${this.#use.index}: ${this.#use.text}`;
  }

  override children(): readonly ExecNode[] {
    return [];
  }
}
