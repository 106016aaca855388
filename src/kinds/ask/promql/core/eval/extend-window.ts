/**
 * The floats of a window with `anchored` or `smoothed`: a sample exactly at each edge, and those
 * between. Anchored, an edge has the last value before it; smoothed, it is interpolated.
 */
import { edgeSamples, interpolate } from "../kernels/extended-float-rate.ts";
import type { SampleColumns } from "../model.ts";

const none: SampleColumns = {
  count: 0,
  ts: new Float64Array(0),
  values: new Float64Array(0),
  stale: undefined,
  histograms: undefined,
  startTs: undefined,
};

/** `samples` are floats, and include those around the window within the lookback. */
export function extendWindow(
  samples: SampleColumns,
  startMs: number,
  endMs: number,
  smoothed: boolean,
): SampleColumns {
  const ts = samples.ts.subarray(0, samples.count);
  const values = samples.values.subarray(0, samples.count);
  const edges = edgeSamples(ts, 0, samples.count, startMs, endMs, smoothed);
  if (edges === undefined) return none;
  const { first, last } = edges;
  const floats = { count: samples.count, ts, values, startTs: undefined };
  const left =
    smoothed && (ts[first] as number) < startMs
      ? interpolate(floats, first, startMs, false)
      : (values[first] as number);
  const right =
    smoothed && last > 0 && (ts[last] as number) > endMs
      ? interpolate(floats, last - 1, endMs, false)
      : (values[last] as number);
  const from = (ts[first] as number) <= startMs ? first + 1 : first;
  const to = (ts[last] as number) >= endMs ? last : last + 1;
  const inner = Math.max(0, to - from);
  const out = { ts: new Float64Array(inner + 2), values: new Float64Array(inner + 2) };
  out.ts.set([startMs, ...ts.subarray(from, from + inner), endMs]);
  out.values.set([left, ...values.subarray(from, from + inner), right]);
  return { ...none, count: inner + 2, ...out };
}
