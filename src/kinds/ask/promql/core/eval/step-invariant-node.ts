/** An expression with the same value at every step: evaluated once and repeated. */
import { stepBytes } from "../held-memory.ts";
import {
  type EvalContext,
  ExecNode,
  type ScalarNode,
  type ScalarValue,
  type VectorNode,
  type VectorValue,
} from "./exec-node.ts";
import { repeat } from "./step-columns.ts";

export class RepeatedVectorNode extends ExecNode<VectorValue> {
  readonly #node: VectorNode;
  readonly #steps: number;

  constructor(node: VectorNode, steps: number) {
    super();
    this.#node = node;
    this.#steps = steps;
  }

  protected override compute(context: EvalContext): VectorValue {
    const { series } = this.#node.eval(context);
    context.budget.expect(series.length * this.#steps * stepBytes);
    return { type: "vector", series: series.map((one) => repeat(one, this.#steps)) };
  }

  override describe(): string {
    return "once for all steps";
  }

  override children(): readonly ExecNode[] {
    return [this.#node];
  }
}

export class RepeatedScalarNode extends ExecNode<ScalarValue> {
  readonly #node: ScalarNode;
  readonly #steps: number;

  constructor(node: ScalarNode, steps: number) {
    super();
    this.#node = node;
    this.#steps = steps;
  }

  protected override compute(context: EvalContext): ScalarValue {
    const [value = Number.NaN] = this.#node.eval(context).values;
    return { type: "scalar", values: new Float64Array(this.#steps).fill(value) };
  }

  override describe(): string {
    return "once for all steps";
  }

  override children(): readonly ExecNode[] {
    return [this.#node];
  }
}
