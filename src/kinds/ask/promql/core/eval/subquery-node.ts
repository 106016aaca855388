/** Evaluates an expression at the steps of a subquery; its values become samples at those times. */
import { sampleBytes } from "../held-memory.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { type Grid, type StepSeries, stepAbsent, stepCount } from "../model.ts";
import { ExecNode, type MatrixNode, type RangeSeries, type VectorNode } from "./exec-node.ts";
import { hasSample, stepTimes } from "./step-columns.ts";

/** `forFunction`: a function of range vectors takes the result. */
export function subqueryNode(input: VectorNode, grid: Grid, forFunction: boolean): MatrixNode {
  return new ExecNode(`subquery every ${grid.stepMs} ms`, [input], (context) => {
    const series = input.eval(context).series.filter(({ kinds }) => hasSample(kinds));
    context.budget.expect((series.length + 1) * stepCount(grid) * sampleBytes);
    const times = stepTimes(grid);
    return { type: "matrix", series: series.map((one) => toSamples(one, times, forFunction)) };
  });
}

function toSamples(
  { labels, dropName, kinds, values, histograms }: StepSeries,
  times: Float64Array,
  forFunction: boolean,
): RangeSeries {
  const hinted = forFunction ? histograms?.map(withoutHint) : histograms;
  if (!kinds.includes(stepAbsent)) {
    return { labels, dropName, samples: columns(times.length, times, values, hinted) };
  }
  const ts = new Float64Array(times.length);
  const kept = new Float64Array(times.length);
  const keptHistograms: (FloatHistogram | undefined)[] = [];
  let count = 0;
  for (let step = 0; step < times.length; step += 1) {
    if (kinds[step] === stepAbsent) continue;
    ts[count] = times[step] as number;
    kept[count] = values[step] as number;
    keptHistograms.push(hinted?.[step]);
    count += 1;
  }
  const present = hinted === undefined ? undefined : keptHistograms;
  return { labels, dropName, samples: columns(count, ts, kept, present) };
}

/** Resets the hint to unknown, because a subquery may omit or repeat samples. */
function withoutHint(histogram: FloatHistogram | undefined): FloatHistogram | undefined {
  const hint = histogram?.counterResetHint;
  if (histogram === undefined || hint === "unknown" || hint === "gauge") return histogram;
  return { ...histogram, counterResetHint: "unknown" };
}

function columns(
  count: number,
  ts: Float64Array,
  values: Float64Array,
  histograms: readonly (FloatHistogram | undefined)[] | undefined,
): RangeSeries["samples"] {
  return { count, ts, values, stale: undefined, histograms, startTs: undefined };
}
