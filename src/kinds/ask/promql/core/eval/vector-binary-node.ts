/** An operator between the matching samples of two vectors. */
import { ExecNode, type VectorNode } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import { type VectorBinarySpec, VectorOperation } from "./vector-operation.ts";

export function vectorBinaryNode(
  spec: VectorBinarySpec,
  left: VectorNode,
  right: VectorNode,
): VectorNode {
  const { op, returnBool, matching, singleStep, position } = spec;
  const bool = returnBool ? " bool" : "";
  const labels = `${matching.on ? "on" : "ignoring"} (${matching.labels.join(", ")})`;
  return new ExecNode(`${op}${bool} ${matching.card} ${labels}`, [left, right], (context) => {
    const leftSeries = left.eval(context).series;
    const rightSeries = right.eval(context).series;
    const operation = new VectorOperation(spec, leftSeries, rightSeries, context);
    const series = operation.run();
    operation.notes.addTo(context.annotations, position);
    return finishVector(series, singleStep, context);
  });
}
