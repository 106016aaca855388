/** irate and idelta: between the last two samples of each window, floats or histograms. */
import { annotate, mixedFloatsHistograms } from "../annotations.ts";
import { detectReset } from "../histogram/detect-reset.ts";
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import { compactHistogram, divideHistogram } from "../histogram/scale.ts";
import { type SampleColumns, stepAbsent, stepFloat } from "../model.ts";
import { HistogramNotes, noted } from "./histogram-notes.ts";
import { withoutStale } from "./split-samples.ts";
import { isStartReset } from "./start-timestamps.ts";
import { putHistogram, type RangeKernel } from "./types.ts";
import { BoundsFinder, windowEdges } from "./windows.ts";

const finder = new BoundsFinder();

function instantRateKernel(isRate: boolean): RangeKernel {
  return (samples, windows, _args, metricName, out, annotations) => {
    const live = withoutStale(samples);
    const { steps, lo, hi } = finder.find(live.ts, live.count, windowEdges(windows));
    const startTs = isRate && windows.useStartTs ? live.startTs : undefined;
    const notes = live.histograms === undefined ? undefined : new HistogramNotes();
    let mixed = false;
    for (let step = 0; step < steps; step += 1) {
      const last = (hi[step] as number) - 1;
      out.kinds[step] = stepAbsent;
      if (last - (lo[step] as number) < 1) continue;
      const current = live.histograms?.[last];
      const previous = live.histograms?.[last - 1];
      if (current === undefined && previous === undefined) {
        out.kinds[step] = stepFloat;
        out.values[step] = floatChange(live, last, isRate, startTs);
      } else if (current === undefined || previous === undefined || notes === undefined) {
        mixed = true;
      } else {
        const reset =
          isRate && (isStartResetAt(live, last, startTs) || detectReset(current, previous));
        const change = histogramChange(previous, current, isRate, reset, notes);
        notes.keepWindow();
        if (change === undefined) continue;
        putHistogram(out, step, isRate ? divideHistogram(change, gapSeconds(live, last)) : change);
      }
    }
    if (mixed) annotate(annotations, mixedFloatsHistograms(metricName), 0);
    notes?.report(metricName, annotations);
  };
}

export const irate: RangeKernel = instantRateKernel(true);
export const idelta: RangeKernel = instantRateKernel(false);

function gapSeconds({ ts }: SampleColumns, last: number): number {
  return ((ts[last] as number) - (ts[last - 1] as number)) / 1000;
}

function isStartResetAt(
  { ts }: SampleColumns,
  last: number,
  startTs: Float64Array | undefined,
): boolean {
  return startTs !== undefined && isStartReset(ts, startTs, last);
}

function floatChange(
  samples: SampleColumns,
  last: number,
  isRate: boolean,
  startTs: Float64Array | undefined,
): number {
  const current = samples.values[last] as number;
  const previous = samples.values[last - 1] as number;
  if (!isRate) return current - previous;
  const reset = current < previous || isStartResetAt(samples, last, startTs);
  return (reset ? current : current - previous) / gapSeconds(samples, last);
}

function histogramChange(
  previous: FloatHistogram,
  current: FloatHistogram,
  isRate: boolean,
  reset: boolean,
  notes: HistogramNotes,
): FloatHistogram | undefined {
  const gauges =
    (previous.counterResetHint === "gauge" ? 1 : 0) +
    (current.counterResetHint === "gauge" ? 1 : 0);
  if (isRate && gauges > 0) notes.window |= noted.notCounter;
  if (!isRate && gauges < 2) notes.window |= noted.notGauge;
  const change = reset ? current : notes.sub(current, previous);
  if (change === undefined) return undefined;
  return compactHistogram({ ...change, counterResetHint: "gauge" });
}
