/** A function of a range vector, evaluated here: of a subquery, or with varying arguments. */
import { stepBytes } from "../held-memory.ts";
import { kernelKeepsName } from "../kernels/range-kernels.ts";
import type { RangeKernel, WindowSpec } from "../kernels/types.ts";
import { type StepSeries, stepCount } from "../model.ts";
import { type CallPlaces, sinkAt } from "./call-places.ts";
import { ExecNode, type MatrixNode, type ScalarNode, type VectorNode } from "./exec-node.ts";
import { finishRangeCall } from "./finish-vector.ts";
import { hasSample, newColumns, seriesOf } from "./step-columns.ts";

export interface RangeCallSpec {
  readonly name: string;
  readonly kernel: RangeKernel;
  readonly windows: WindowSpec;
  readonly places: CallPlaces;
}

/** `args` are all arguments except the range vector, in order. */
export function rangeCallNode(
  { name, kernel, windows, places }: RangeCallSpec,
  source: MatrixNode,
  args: readonly ScalarNode[],
): VectorNode {
  return new ExecNode(name, [source, ...args], (context) => {
    const { series } = source.eval(context);
    const values = args.map((arg) => arg.eval(context).values);
    const sink = sinkAt(context.annotations, places);
    const steps = stepCount(windows.grid);
    context.budget.expect(series.length * steps * stepBytes);
    const results: StepSeries[] = [];
    for (const { labels, dropName, samples } of series) {
      const out = newColumns(steps);
      kernel(samples, windows, values, labels.name, out, sink);
      if (!hasSample(out.kinds)) continue;
      results.push(seriesOf(labels, dropName || !kernelKeepsName(name), out));
    }
    return finishRangeCall(results, context);
  });
}
