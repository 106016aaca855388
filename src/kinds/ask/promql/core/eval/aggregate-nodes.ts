/** Aggregations of whole vectors. `leaf-nodes.ts` has those of leaves that workers aggregated. */
import { stepBytes } from "../held-memory.ts";
import { type AggregateSpec, aggregateVector } from "./aggregate-vector.ts";
import { countValues } from "./count-values.ts";
import { ExecNode, type ScalarNode, type VectorNode } from "./exec-node.ts";
import { finishVector } from "./finish-vector.ts";
import type { Grouping } from "./grouped-series.ts";
import { type SelectSpec, selectSeries } from "./select-k.ts";

export function aggregateNode(
  spec: AggregateSpec,
  param: ScalarNode | undefined,
  input: VectorNode,
): VectorNode {
  const inputs = param === undefined ? [input] : [param, input];
  return new ExecNode(`${spec.op} ${groupingText(spec.grouping)}`, inputs, (context) => {
    const params = param?.eval(context).values;
    const { series } = input.eval(context);
    return { type: "vector", series: aggregateVector(spec, params, series, context) };
  });
}

export function selectNode(spec: SelectSpec, param: ScalarNode, input: VectorNode): VectorNode {
  const text = `${spec.op} ${groupingText(spec.grouping)}`;
  return new ExecNode(text, [param, input], (context) => {
    const params = param.eval(context).values;
    const { series } = input.eval(context);
    return { type: "vector", series: selectSeries(spec, params, series, context) };
  });
}

export interface CountValuesSpec {
  readonly valueLabel: string;
  readonly grouping: Grouping;
  readonly steps: number;
  readonly singleStep: boolean;
}

export function countValuesNode(
  { valueLabel, grouping, steps, singleStep }: CountValuesSpec,
  input: VectorNode,
): VectorNode {
  return new ExecNode(`count_values ${groupingText(grouping)}`, [input], (context) => {
    const { series } = input.eval(context);
    const { budget } = context;
    let bytes = 0; // There may be one series for each value of each step.
    const counted = countValues(valueLabel, grouping, series, steps, (labels) => {
      bytes += steps * stepBytes;
      budget.expect(bytes);
      return budget.make(labels);
    });
    return finishVector(counted, singleStep, context);
  });
}

function groupingText({ names, without }: Grouping): string {
  return `${without ? "without" : "by"} (${names.join(", ")})`;
}
