/** Aggregations of whole vectors. `leaf-nodes.ts` has those of leaves that workers aggregated. */
import { stepBytes } from "../held-memory.ts";
import { type AggregateSpec, aggregateVector } from "./aggregate-vector.ts";
import { countValues } from "./count-values.ts";
import {
  type EvalContext,
  ExecNode,
  type ScalarNode,
  type VectorNode,
  type VectorValue,
} from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import type { Grouping } from "./grouped-series.ts";
import { type SelectSpec, selectSeries } from "./select-k.ts";

export class AggregateNode extends ExecNode<VectorValue> {
  readonly #spec: AggregateSpec;
  readonly #param: ScalarNode | undefined;
  readonly #input: VectorNode;

  constructor(spec: AggregateSpec, param: ScalarNode | undefined, input: VectorNode) {
    super();
    this.#spec = spec;
    this.#param = param;
    this.#input = input;
  }

  protected override compute(context: EvalContext): VectorValue {
    const params = this.#param?.eval(context).values;
    const { series } = this.#input.eval(context);
    return { type: "vector", series: aggregateVector(this.#spec, params, series, context) };
  }

  override describe(): string {
    return `${this.#spec.op} ${groupingText(this.#spec.grouping)}`;
  }

  override children(): readonly ExecNode[] {
    return this.#param === undefined ? [this.#input] : [this.#param, this.#input];
  }
}

export class SelectNode extends ExecNode<VectorValue> {
  readonly #spec: SelectSpec;
  readonly #param: ScalarNode;
  readonly #input: VectorNode;

  constructor(spec: SelectSpec, param: ScalarNode, input: VectorNode) {
    super();
    this.#spec = spec;
    this.#param = param;
    this.#input = input;
  }

  protected override compute(context: EvalContext): VectorValue {
    const params = this.#param.eval(context).values;
    const { series } = this.#input.eval(context);
    return { type: "vector", series: selectSeries(this.#spec, params, series, context) };
  }

  override describe(): string {
    return `${this.#spec.op} ${groupingText(this.#spec.grouping)}`;
  }

  override children(): readonly ExecNode[] {
    return [this.#param, this.#input];
  }
}

export interface CountValuesSpec {
  readonly valueLabel: string;
  readonly grouping: Grouping;
  readonly steps: number;
  readonly singleStep: boolean;
}

export class CountValuesNode extends ExecNode<VectorValue> {
  readonly #spec: CountValuesSpec;
  readonly #input: VectorNode;

  constructor(spec: CountValuesSpec, input: VectorNode) {
    super();
    this.#spec = spec;
    this.#input = input;
  }

  protected override compute(context: EvalContext): VectorValue {
    const { valueLabel, grouping, steps, singleStep } = this.#spec;
    const { series } = this.#input.eval(context);
    const { budget } = context;
    let bytes = 0; // There may be one series for each value of each step.
    const counted = countValues(valueLabel, grouping, series, steps, (labels) => {
      bytes += steps * stepBytes;
      budget.expect(bytes);
      return budget.make(labels);
    });
    return finishVector(counted, singleStep, context);
  }

  override describe(): string {
    return `count_values ${groupingText(this.#spec.grouping)}`;
  }

  override children(): readonly ExecNode[] {
    return [this.#input];
  }
}

export function groupingText({ names, without }: Grouping): string {
  return `${without ? "without" : "by"} (${names.join(", ")})`;
}
