/** `absent` and `absent_over_time`: 1 at the steps without samples, with the selector's labels. */
import type { Expr } from "../ast.ts";
import { Labels, metricNameLabel } from "../labels.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { ExecNode, type VectorNode } from "./exec-node.ts";
import { hasSample, presenceOf } from "./step-columns.ts";

export function absentNode(
  name: string,
  labels: Labels,
  input: VectorNode,
  steps: number,
): VectorNode {
  return new ExecNode(name, [input], (context) => {
    const presence = presenceOf(input.eval(context).series, steps);
    const missing = presence.map((present) => (present === 1 ? stepAbsent : stepFloat));
    if (!hasSample(missing)) return { type: "vector", series: [] };
    const values = new Float64Array(steps).fill(1);
    const series = {
      labels,
      // Type and unit are removed from the result of a range function, but not of `absent`.
      dropName: name === "absent_over_time" && context.options.delayedNameRemoval,
      kinds: missing,
      values,
      histograms: undefined,
    };
    return { type: "vector", series: [series] };
  });
}

/** The labels that a selector fixes to one value. A label that it mentions twice is not fixed. */
export function absentLabels(expr: Expr): Labels {
  if (expr.kind !== "vectorSelector" && expr.kind !== "matrixSelector") return Labels.empty;
  const { matchers } = expr.kind === "vectorSelector" ? expr : expr.vector;
  const fixed = new Map<string, string>();
  const seen = new Set<string>();
  for (const { name, op, value } of matchers) {
    if (name === metricNameLabel) continue;
    if (op === "=" && !seen.has(name)) {
      fixed.set(name, value);
      seen.add(name);
    } else fixed.delete(name);
  }
  return Labels.fromPairs([...fixed]);
}
