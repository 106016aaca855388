/** Nodes of scalars and strings. */
import type { ArithmeticOp, ComparisonOp } from "../ast.ts";
import { formatGeneral } from "../go-format.ts";
import { quoteText } from "../print/quote.ts";
import { ExecNode, type ScalarNode, type StringValue } from "./exec-node.ts";
import { compareColumns, computeColumns, isComparison } from "./float-operators.ts";

export function numberNode(value: number, steps: number): ScalarNode {
  return new ExecNode(`number ${formatGeneral(value)}`, [], () => ({
    type: "scalar",
    values: new Float64Array(steps).fill(value),
  }));
}

export function stringNode(text: string): ExecNode<StringValue> {
  return new ExecNode(`string ${quoteText(text)}`, [], () => ({ type: "string", text }));
}

export function negatedScalarNode(operand: ScalarNode): ScalarNode {
  return new ExecNode("negate", [operand], (context) => ({
    type: "scalar",
    values: operand.eval(context).values.map((value) => -value),
  }));
}

/** A comparison between scalars gives 1 or 0, because a scalar cannot be left out. */
export function scalarBinaryNode(
  op: ArithmeticOp | ComparisonOp,
  leftNode: ScalarNode,
  rightNode: ScalarNode,
): ScalarNode {
  return new ExecNode(`scalar ${op} scalar`, [leftNode, rightNode], (context) => {
    const left = leftNode.eval(context).values;
    const right = rightNode.eval(context).values;
    if (!isComparison(op)) {
      const values = new Float64Array(left.length);
      computeColumns(op, left, right, values);
      return { type: "scalar", values };
    }
    const holds = new Uint8Array(left.length);
    compareColumns(op, left, right, holds);
    return { type: "scalar", values: Float64Array.from(holds) };
  });
}
