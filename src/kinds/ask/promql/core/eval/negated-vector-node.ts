/** The negation `-v`. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { scaleHistogram } from "../histogram/scale.ts";
import type { StepSeries } from "../model.ts";
import { ExecNode, type VectorNode } from "./exec-node.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { dropNamesNow } from "./result-labels.ts";

export function negatedVectorNode(operand: VectorNode): VectorNode {
  return new ExecNode("negate", [operand], (context) => {
    const negated = operand.eval(context).series.map(negate);
    const { delayedNameRemoval } = context.options;
    const series = dropNamesNow(negated, delayedNameRemoval);
    return { type: "vector", series: delayedNameRemoval ? series : mergeDuplicates(series) };
  });
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
