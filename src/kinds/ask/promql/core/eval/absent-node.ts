/** `absent` and `absent_over_time`: 1 at the steps without samples, with the selector's labels. */
import type { Expr } from "../ast.ts";
import { Labels, metricNameLabel } from "../labels.ts";
import { stepAbsent, stepFloat } from "../model.ts";
import { type EvalContext, ExecNode, type VectorNode, type VectorValue } from "./exec-node.ts";
import { hasSample } from "./step-columns.ts";

export class AbsentNode extends ExecNode<VectorValue> {
  readonly #name: string;
  readonly #labels: Labels;
  readonly #input: VectorNode;
  readonly #steps: number;

  constructor(name: string, labels: Labels, input: VectorNode, steps: number) {
    super();
    this.#name = name;
    this.#labels = labels;
    this.#input = input;
    this.#steps = steps;
  }

  protected override compute(context: EvalContext): VectorValue {
    const missing = new Uint8Array(this.#steps).fill(stepFloat);
    for (const { kinds } of this.#input.eval(context).series) {
      for (let step = 0; step < kinds.length; step += 1) {
        if (kinds[step] !== stepAbsent) missing[step] = stepAbsent;
      }
    }
    if (!hasSample(missing)) return { type: "vector", series: [] };
    const values = new Float64Array(this.#steps).fill(1);
    const series = {
      labels: this.#labels,
      // Type and unit are removed from the result of a range function, but not of `absent`.
      dropName: this.#name === "absent_over_time" && context.options.delayedNameRemoval,
      kinds: missing,
      values,
      histograms: undefined,
    };
    return { type: "vector", series: [series] };
  }

  override describe(): string {
    return this.#name;
  }

  override children(): readonly ExecNode[] {
    return [this.#input];
  }
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
