/** A function of a range vector, evaluated here: of a subquery, or with varying arguments. */
import { stepBytes } from "../held-memory.ts";
import { kernelKeepsName } from "../kernels/range-kernels.ts";
import type { RangeKernel, WindowSpec } from "../kernels/types.ts";
import { type StepSeries, stepCount } from "../model.ts";
import { type CallPlaces, sinkAt } from "./call-places.ts";
import {
  type EvalContext,
  ExecNode,
  type MatrixNode,
  type ScalarNode,
  type VectorValue,
} from "./exec-node.ts";
import { finishRangeCall } from "./finish-vector.ts";
import { hasSample, newColumns, seriesOf } from "./step-columns.ts";

export interface RangeCallSpec {
  readonly name: string;
  readonly kernel: RangeKernel;
  readonly windows: WindowSpec;
  readonly places: CallPlaces;
}

export class RangeCallNode extends ExecNode<VectorValue> {
  readonly #spec: RangeCallSpec;
  readonly #source: MatrixNode;
  readonly #args: readonly ScalarNode[];

  /** `args` are all arguments except the range vector, in order. */
  constructor(spec: RangeCallSpec, source: MatrixNode, args: readonly ScalarNode[]) {
    super();
    this.#spec = spec;
    this.#source = source;
    this.#args = args;
  }

  protected override compute(context: EvalContext): VectorValue {
    const { name, kernel, windows, places } = this.#spec;
    const { series } = this.#source.eval(context);
    const args = this.#args.map((arg) => arg.eval(context).values);
    const sink = sinkAt(context.annotations, places);
    const steps = stepCount(windows.grid);
    context.budget.expect(series.length * steps * stepBytes);
    const results: StepSeries[] = [];
    for (const { labels, dropName, samples } of series) {
      const out = newColumns(steps);
      kernel(samples, windows, args, labels.name, out, sink);
      if (!hasSample(out.kinds)) continue;
      results.push(seriesOf(labels, dropName || !kernelKeepsName(name), out));
    }
    return finishRangeCall(results, context);
  }

  override describe(): string {
    return this.#spec.name;
  }

  override children(): readonly ExecNode[] {
    return [this.#source, ...this.#args];
  }
}
