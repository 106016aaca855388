/** The negation `-v`. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { scaleHistogram } from "../histogram/scale.ts";
import type { StepSeries } from "../model.ts";
import { type EvalContext, ExecNode, type VectorNode, type VectorValue } from "./exec-node.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { dropNamesNow } from "./result-labels.ts";

export class NegatedVectorNode extends ExecNode<VectorValue> {
  readonly #operand: VectorNode;

  constructor(operand: VectorNode) {
    super();
    this.#operand = operand;
  }

  protected override compute(context: EvalContext): VectorValue {
    const negated = this.#operand.eval(context).series.map(negate);
    const { delayedNameRemoval } = context.options;
    const series = dropNamesNow(negated, delayedNameRemoval);
    return { type: "vector", series: delayedNameRemoval ? series : mergeDuplicates(series) };
  }

  override describe(): string {
    return "negate";
  }

  override children(): readonly ExecNode[] {
    return [this.#operand];
  }
}

function negate(series: StepSeries): StepSeries {
  const values = new Float64Array(series.values.length);
  for (let step = 0; step < values.length; step += 1)
    values[step] = -(series.values[step] as number);
  const histograms = series.histograms?.map((histogram: FloatHistogram | undefined) =>
    histogram === undefined ? undefined : scaleHistogram(histogram, -1),
  );
  return { ...series, dropName: true, values, histograms };
}
