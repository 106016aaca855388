/** Nodes of scalars and strings. */
import { formatGeneral } from "../go-format.ts";
import { quoteText } from "../print/quote.ts";
import {
  type EvalContext,
  ExecNode,
  type ScalarNode,
  type ScalarValue,
  type StringValue,
} from "./exec-node.ts";
import {
  type ArithmeticOp,
  type ComparisonOp,
  compareColumns,
  computeColumns,
  isComparison,
} from "./float-operators.ts";

export class NumberNode extends ExecNode<ScalarValue> {
  readonly #value: number;
  readonly #steps: number;

  constructor(value: number, steps: number) {
    super();
    this.#value = value;
    this.#steps = steps;
  }

  protected override compute(): ScalarValue {
    return { type: "scalar", values: new Float64Array(this.#steps).fill(this.#value) };
  }

  override describe(): string {
    return `number ${formatGeneral(this.#value)}`;
  }

  override children(): readonly ExecNode[] {
    return [];
  }
}

export class StringNode extends ExecNode<StringValue> {
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  protected override compute(): StringValue {
    return { type: "string", text: this.text };
  }

  override describe(): string {
    return `string ${quoteText(this.text)}`;
  }

  override children(): readonly ExecNode[] {
    return [];
  }
}

export class NegatedScalarNode extends ExecNode<ScalarValue> {
  readonly #operand: ScalarNode;

  constructor(operand: ScalarNode) {
    super();
    this.#operand = operand;
  }

  protected override compute(context: EvalContext): ScalarValue {
    return { type: "scalar", values: this.#operand.eval(context).values.map((value) => -value) };
  }

  override describe(): string {
    return "negate";
  }

  override children(): readonly ExecNode[] {
    return [this.#operand];
  }
}

/** A comparison between scalars gives 1 or 0, because a scalar cannot be left out. */
export class ScalarBinaryNode extends ExecNode<ScalarValue> {
  readonly #op: ArithmeticOp | ComparisonOp;
  readonly #left: ScalarNode;
  readonly #right: ScalarNode;

  constructor(op: ArithmeticOp | ComparisonOp, left: ScalarNode, right: ScalarNode) {
    super();
    this.#op = op;
    this.#left = left;
    this.#right = right;
  }

  protected override compute(context: EvalContext): ScalarValue {
    const left = this.#left.eval(context).values;
    const right = this.#right.eval(context).values;
    const op = this.#op;
    if (!isComparison(op)) {
      const values = new Float64Array(left.length);
      computeColumns(op, left, right, values);
      return { type: "scalar", values };
    }
    const holds = new Uint8Array(left.length);
    compareColumns(op, left, right, holds);
    return { type: "scalar", values: Float64Array.from(holds) };
  }

  override describe(): string {
    return `scalar ${this.#op} scalar`;
  }

  override children(): readonly ExecNode[] {
    return [this.#left, this.#right];
  }
}
