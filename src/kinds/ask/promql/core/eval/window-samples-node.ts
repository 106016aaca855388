/** The samples of one window: the result of an instant query for a range vector. */
import { PromqlError } from "../engine-types.ts";
import {
  type EvalContext,
  ExecNode,
  type MatrixNode,
  type MatrixValue,
  type RangeSeries,
} from "./exec-node.ts";
import { extendWindow } from "./extend-window.ts";

export interface SampleWindow {
  /** The start of the window, exclusive. */
  readonly afterMs: number;
  readonly untilMs: number;
  readonly bounds: "anchored" | "smoothed" | undefined;
}

export class WindowSamplesNode extends ExecNode<MatrixValue> {
  readonly #source: MatrixNode;
  readonly #window: SampleWindow;

  constructor(source: MatrixNode, window: SampleWindow) {
    super();
    this.#source = source;
    this.#window = window;
  }

  protected override compute(context: EvalContext): MatrixValue {
    const series: RangeSeries[] = [];
    for (const one of this.#source.eval(context).series) {
      const samples = this.#cut(one.samples);
      if (samples.count > 0) series.push({ ...one, samples });
    }
    return { type: "matrix", series };
  }

  #cut(samples: RangeSeries["samples"]): RangeSeries["samples"] {
    const { afterMs, untilMs, bounds } = this.#window;
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

  override describe(): string {
    return "samples of the window";
  }

  override children(): readonly ExecNode[] {
    return [this.#source];
  }
}

function withoutStale(samples: RangeSeries["samples"]): RangeSeries["samples"] {
  const { stale, count } = samples;
  if (stale === undefined) return samples;
  const indexes: number[] = [];
  for (let index = 0; index < count; index += 1) if (stale[index] !== 1) indexes.push(index);
  return pick(samples, indexes);
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
