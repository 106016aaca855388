/** The part of a series that a leaf needs, as views; only references to histograms are copied. */
import { firstAfter } from "../kernels/windows.ts";
import type { SampleColumns } from "../model.ts";
import type { LeafTimeRange } from "./leaf-time-range.ts";

export function trimSamples(samples: SampleColumns, range: LeafTimeRange): SampleColumns {
  const from = firstAfter(samples.ts, samples.count, range.minMs);
  const to = firstAfter(samples.ts, samples.count, range.maxMs);
  const { ts, values, stale, histograms, startTs } = samples;
  if (from === 0 && to === samples.count) return samples;
  return {
    count: to - from,
    ts: ts.subarray(from, to),
    values: values.subarray(from, to),
    stale: stale?.subarray(from, to),
    histograms: histograms?.slice(from, to),
    startTs: startTs?.subarray(from, to),
  };
}
