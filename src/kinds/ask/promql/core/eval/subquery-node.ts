/** Evaluates an expression at the steps of a subquery; its values become samples at those times. */
import { sampleBytes } from "../held-memory.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type Grid, type StepSeries, stepAbsent, stepCount } from "../model.ts";
import {
  type EvalContext,
  ExecNode,
  type MatrixValue,
  type RangeSeries,
  type VectorNode,
} from "./exec-node.ts";
import { hasSample, stepTimes } from "./step-columns.ts";

export class SubqueryNode extends ExecNode<MatrixValue> {
  readonly #input: VectorNode;
  readonly #grid: Grid;
  readonly #forFunction: boolean;

  constructor(input: VectorNode, grid: Grid, forFunction: boolean) {
    super();
    this.#input = input;
    this.#grid = grid;
    this.#forFunction = forFunction;
  }

  protected override compute(context: EvalContext): MatrixValue {
    const input = this.#input.eval(context).series.filter(({ kinds }) => hasSample(kinds));
    context.budget.expect((input.length + 1) * stepCount(this.#grid) * sampleBytes);
    const times = stepTimes(this.#grid);
    return { type: "matrix", series: input.map((one) => this.#toSamples(one, times)) };
  }

  #toSamples(
    { labels, dropName, kinds, values, histograms }: StepSeries,
    times: Float64Array,
  ): RangeSeries {
    const hints = histograms === undefined ? undefined : this.#withoutHints(histograms);
    if (!kinds.includes(stepAbsent)) {
      return { labels, dropName, samples: columns(times.length, times, values, hints) };
    }
    const ts = new Float64Array(times.length);
    const kept = new Float64Array(times.length);
    const keptHistograms: (FloatHistogram | undefined)[] = [];
    let count = 0;
    for (let step = 0; step < times.length; step += 1) {
      if (kinds[step] === stepAbsent) continue;
      ts[count] = times[step] as number;
      kept[count] = values[step] as number;
      keptHistograms.push(hints?.[step]);
      count += 1;
    }
    const present = hints === undefined ? undefined : keptHistograms;
    return { labels, dropName, samples: columns(count, ts, kept, present) };
  }

  /** Resets hints to unknown, because a subquery may omit or repeat samples. */
  #withoutHints(
    histograms: readonly (FloatHistogram | undefined)[],
  ): readonly (FloatHistogram | undefined)[] {
    if (!this.#forFunction) return histograms;
    return histograms.map((histogram) => {
      const hint = histogram?.counterResetHint;
      if (histogram === undefined || hint === "unknown" || hint === "gauge") return histogram;
      return { ...histogram, counterResetHint: "unknown" };
    });
  }

  override describe(): string {
    return `subquery every ${this.#grid.stepMs} ms`;
  }

  override children(): readonly ExecNode[] {
    return [this.#input];
  }
}

function columns(
  count: number,
  ts: Float64Array,
  values: Float64Array,
  histograms: readonly (FloatHistogram | undefined)[] | undefined,
): RangeSeries["samples"] {
  return { count, ts, values, stale: undefined, histograms, startTs: undefined };
}
