/** The samples of one window: the result of an instant query for a range vector. */
import { PromqlError } from "../engine-types.ts";
import { withoutStale } from "../kernels/split-samples.ts";
import { ExecNode, type MatrixNode, type RangeSeries } from "./exec-node.ts";
import { extendWindow } from "./extend-window.ts";

export interface SampleWindow {
  /** The start of the window, exclusive. */
  readonly afterMs: number;
  readonly untilMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
}

export function windowSamplesNode(source: MatrixNode, window: SampleWindow): MatrixNode {
  return new ExecNode("samples of the window", [source], (context) => {
    const series: RangeSeries[] = [];
    for (const one of source.eval(context).series) {
      const samples = cut(one.samples, window);
      if (samples.count > 0) series.push({ ...one, samples });
    }
    return { type: "matrix", series };
  });
}

function cut(
  samples: RangeSeries["samples"],
  { afterMs, untilMs, bounds }: SampleWindow,
): RangeSeries["samples"] {
  const live = withoutStale(samples);
  if (bounds !== undefined) {
    if (live.histograms?.some((histogram) => histogram !== undefined) === true) {
      const message = `${bounds} modifier is not supported with histograms`;
      throw new PromqlError("execution", message);
    }
    return extendWindow(live, afterMs, untilMs, bounds === "smoothed");
  }
  const indexes: number[] = [];
  for (let index = 0; index < live.count; index += 1) {
    const time = live.ts[index] as number;
    if (time > afterMs && time <= untilMs) indexes.push(index);
  }
  return pick(live, indexes);
}

function pick(samples: RangeSeries["samples"], indexes: readonly number[]): RangeSeries["samples"] {
  const { ts, values, histograms } = samples;
  return {
    count: indexes.length,
    ts: Float64Array.from(indexes, (index) => ts[index] as number),
    values: Float64Array.from(indexes, (index) => values[index] as number),
    stale: undefined,
    histograms: histograms === undefined ? undefined : indexes.map((index) => histograms[index]),
    startTs: undefined,
  };
}
