/**
 * changes and resets, over floats and histograms together. Whether a sample differs from the one
 * before does not depend on the window, so a window's count is a difference of two running counts.
 */
import { detectReset } from "../histogram/detect-reset.ts";
import { equalsHistogram } from "../histogram/equality.ts";
import { type SampleColumns, stepAbsent, stepFloat } from "../model.ts";
import { IndexScratch } from "./scratch.ts";
import { withoutStale } from "./split-samples.ts";
import { isStartReset } from "./start-timestamps.ts";
import type { MutableSteps, RangeKernel, WindowSpec } from "./types.ts";
import { BoundsFinder, windowEdges } from "./windows.ts";

const finder = new BoundsFinder();
const countScratch = new IndexScratch();

export const changes: RangeKernel = (samples, windows, _args, _metricName, out) => {
  const live = withoutStale(samples);
  const counts = countScratch.take(live.count);
  if (live.histograms === undefined) countFloatChanges(live, counts);
  else countPairs(live, counts, differ);
  fillCounts(live, windows, counts, out);
};

export const resets: RangeKernel = (samples, windows, _args, _metricName, out) => {
  const live = withoutStale(samples);
  const counts = countScratch.take(live.count);
  const startTs = windows.useStartTs ? live.startTs : undefined;
  if (live.histograms === undefined && startTs === undefined) countFloatResets(live, counts);
  else countPairs(live, counts, (all, index) => isReset(all, index, startTs));
  fillCounts(live, windows, counts, out);
};

/** `counts[i]` is how many samples from the second to the `i`th differ from the one before. */
function countFloatChanges({ count, values }: SampleColumns, counts: Int32Array): void {
  counts[0] = 0;
  let found = 0;
  let previous = values[0] as number;
  for (let index = 1; index < count; index += 1) {
    const value = values[index] as number;
    // From NaN to NaN is no change.
    if (value !== previous && (!Number.isNaN(value) || !Number.isNaN(previous))) found += 1;
    counts[index] = found;
    previous = value;
  }
}

function countFloatResets({ count, values }: SampleColumns, counts: Int32Array): void {
  counts[0] = 0;
  let found = 0;
  let previous = values[0] as number;
  for (let index = 1; index < count; index += 1) {
    const value = values[index] as number;
    if (value < previous) found += 1;
    counts[index] = found;
    previous = value;
  }
}

function countPairs(
  samples: SampleColumns,
  counts: Int32Array,
  standsOut: (samples: SampleColumns, index: number) => boolean,
): void {
  counts[0] = 0;
  let found = 0;
  for (let index = 1; index < samples.count; index += 1) {
    if (standsOut(samples, index)) found += 1;
    counts[index] = found;
  }
}

function differ({ histograms, values }: SampleColumns, index: number): boolean {
  const previous = histograms?.[index - 1];
  const current = histograms?.[index];
  if (previous !== undefined && current !== undefined) return !equalsHistogram(current, previous);
  if (previous !== undefined || current !== undefined) return true;
  const before = values[index - 1] as number;
  const value = values[index] as number;
  return value !== before && !(Number.isNaN(value) && Number.isNaN(before));
}

function isReset(
  { histograms, values, ts }: SampleColumns,
  index: number,
  startTs: Float64Array | undefined,
): boolean {
  const previous = histograms?.[index - 1];
  const current = histograms?.[index];
  if ((previous === undefined) !== (current === undefined)) return true;
  if (startTs !== undefined && isStartReset(ts, startTs, index)) return true;
  if (previous !== undefined && current !== undefined) return detectReset(current, previous);
  return (values[index] as number) < (values[index - 1] as number);
}

/**
 * An anchored window also compares its first sample with the last one before, within the lookback.
 */
function fillCounts(
  { count, ts }: SampleColumns,
  windows: WindowSpec,
  counts: Int32Array,
  out: MutableSteps,
): void {
  const edges = windowEdges(windows);
  const { steps, lo, hi } = finder.find(ts, count, edges);
  const anchored = windows.bounds === "anchored";
  for (let step = 0; step < steps; step += 1) {
    let first = lo[step] as number;
    const last = (hi[step] as number) - 1;
    if (last < first) {
      out.kinds[step] = stepAbsent;
      continue;
    }
    const oldestMs = edges.startMs + step * edges.strideMs - windows.lookbackMs;
    if (anchored && first > 0 && (ts[first - 1] as number) > oldestMs) first -= 1;
    out.kinds[step] = stepFloat;
    out.values[step] = (counts[last] as number) - (counts[first] as number);
  }
}
