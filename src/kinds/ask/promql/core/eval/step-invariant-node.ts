/** An expression with the same value at every step: evaluated once and repeated. */
import { stepBytes } from "../held-memory.ts";
import { ExecNode, type ScalarNode, type VectorNode } from "./exec-node.ts";
import { repeat } from "./step-columns.ts";

const text = "once for all steps";

export function repeatedVectorNode(node: VectorNode, steps: number): VectorNode {
  return new ExecNode(text, [node], (context) => {
    const { series } = node.eval(context);
    context.budget.expect(series.length * steps * stepBytes);
    return { type: "vector", series: series.map((one) => repeat(one, steps)) };
  });
}

export function repeatedScalarNode(node: ScalarNode, steps: number): ScalarNode {
  return new ExecNode(text, [node], (context) => {
    const [value = Number.NaN] = node.eval(context).values;
    return { type: "scalar", values: new Float64Array(steps).fill(value) };
  });
}
