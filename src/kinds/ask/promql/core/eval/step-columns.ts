/** Operations on the columns of a `StepSeries`. */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { MutableSteps } from "../kernels/types.ts";
import type { Labels } from "../labels.ts";
import { type Grid, type StepSeries, stepAbsent, stepCount, stepHistogram } from "../model.ts";

/** A series' values at the steps, without its labels. */
export interface StepColumns {
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
  readonly histograms: (FloatHistogram | undefined)[] | undefined;
}

export function newColumns(steps: number): MutableSteps {
  return { kinds: new Uint8Array(steps), values: new Float64Array(steps), histograms: undefined };
}

export function hasSample(kinds: Uint8Array): boolean {
  return firstSample(kinds) < kinds.length;
}

export function firstSample(kinds: Uint8Array): number {
  for (let step = 0; step < kinds.length; step += 1) {
    if (kinds[step] !== stepAbsent) return step;
  }
  return kinds.length;
}

/** 1 at the steps where any of the series has a sample. */
export function presenceOf(series: readonly StepSeries[], steps: number): Uint8Array {
  const presence = new Uint8Array(steps);
  for (const { kinds } of series) {
    for (let step = 0; step < steps; step += 1) {
      if (kinds[step] !== stepAbsent) presence[step] = 1;
    }
  }
  return presence;
}

export function hasHistograms({ histograms, kinds }: StepSeries): boolean {
  return histograms !== undefined && kinds.includes(stepHistogram);
}

export function seriesOf(labels: Labels, dropName: boolean, columns: StepColumns): StepSeries {
  const { kinds, values, histograms } = columns;
  return { labels, dropName, kinds, values, histograms };
}

export function stepTimes(grid: Grid): Float64Array {
  const times = new Float64Array(stepCount(grid));
  for (let step = 0; step < times.length; step += 1) {
    times[step] = grid.startMs + step * grid.stepMs;
  }
  return times;
}

/** Repeats the value of the only step at `steps` steps. */
export function repeat(series: StepSeries, steps: number): StepSeries {
  const [histogram] = series.histograms ?? [];
  return {
    labels: series.labels,
    dropName: series.dropName,
    kinds: new Uint8Array(steps).fill(series.kinds[0] as number),
    values: new Float64Array(steps).fill(series.values[0] as number),
    histograms: histogram === undefined ? undefined : new Array(steps).fill(histogram),
  };
}

/** Keeps only the steps where `mask` is 1. */
export function masked(series: StepSeries, mask: Uint8Array): StepSeries {
  const kinds = new Uint8Array(series.kinds.length);
  for (let step = 0; step < kinds.length; step += 1) {
    kinds[step] = (series.kinds[step] as number) * (mask[step] as number);
  }
  return { ...series, kinds };
}
