/**
 * A query is evaluated by a tree of nodes, made by one function for each kind of expression. A node
 * computes all of its steps at once, in columns.
 *
 * Results are never written to once returned, because series and nodes share columns. Series
 * without any sample are left out, unless the node says otherwise. Results and errors are those of
 * evaluating step by step: a conflict counts only at a step where both samples exist.
 */
import type { AnnotationSet } from "../annotations.ts";
import type { EngineOptions } from "../engine-types.ts";
import { sampleBytes } from "../held-memory.ts";
import type { Labels } from "../labels.ts";
import type { LeafResult } from "../leaf.ts";
import type { Position, SampleColumns, StepSeries } from "../model.ts";
import { columnBytes, countSamples, type SampleBudget, sampleSize } from "./sample-budget.ts";

export interface EvalContext {
  /** The results by index of the leaf in the plan, merged over the shards. */
  readonly leaves: readonly LeafResult[];
  readonly options: EngineOptions;
  readonly annotations: AnnotationSet<Position>;
  readonly budget: SampleBudget;
}

export interface VectorValue {
  readonly type: "vector";
  readonly series: readonly StepSeries[];
}
export interface ScalarValue {
  readonly type: "scalar";
  /** One value per step. */
  readonly values: Float64Array;
}
export interface StringValue {
  readonly type: "string";
  readonly text: string;
}
/** A range vector: samples with their own times. */
export interface MatrixValue {
  readonly type: "matrix";
  readonly series: readonly RangeSeries[];
}

export interface RangeSeries {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly samples: SampleColumns;
}

export type NodeValue = VectorValue | ScalarValue | StringValue | MatrixValue;

export class ExecNode<Value extends NodeValue = NodeValue> {
  /** One line for EXPLAIN. */
  readonly text: string;
  /** The nodes that it reads, for EXPLAIN. */
  readonly inputs: readonly ExecNode[];
  readonly #compute: (context: EvalContext) => Value;

  /** `compute` evaluates the inputs that it needs, then the node itself. */
  constructor(text: string, inputs: readonly ExecNode[], compute: (context: EvalContext) => Value) {
    this.text = text;
    this.inputs = inputs;
    this.#compute = compute;
  }

  eval(context: EvalContext): Value {
    const heldBefore = context.budget.held;
    const value = this.#compute(context);
    const samples = countValueSamples(value);
    const labelBytes = countLabelBytes(value);
    context.budget.exchange(heldBefore, { samples, labelBytes, bytes: countBytes(value, samples) });
    return value;
  }
}

function countValueSamples(value: NodeValue): number {
  switch (value.type) {
    case "vector":
      return countSamples(value.series);
    case "scalar":
      return value.values.length;
    case "string":
      return 0;
    case "matrix":
      return value.series.reduce(
        (sum, { samples }) => sum + sampleSize(samples, 0, samples.count),
        0,
      );
  }
}

function countBytes(value: NodeValue, samples: number): number {
  switch (value.type) {
    case "vector":
      return columnBytes(value.series, samples);
    case "scalar":
      return samples * 8;
    case "string":
      return 0;
    case "matrix":
      return samples * sampleBytes;
  }
}

function countLabelBytes(value: NodeValue): number {
  if (value.type !== "vector" && value.type !== "matrix") return 0;
  let bytes = 0;
  for (const { labels } of value.series) bytes += labels.size;
  return bytes;
}

export type VectorNode = ExecNode<VectorValue>;
export type ScalarNode = ExecNode<ScalarValue>;
export type MatrixNode = ExecNode<MatrixValue>;
