/**
 * Splits a series' samples for the kernels: removes stale markers, and separates floats from
 * histograms. A series of plain floats, the usual case, is passed through.
 */
import type { FloatHistogram } from "../histogram/float-histogram.ts";
import type { SampleColumns } from "../model.ts";
import { FloatScratch } from "./scratch.ts";

export interface FloatSamples {
  readonly count: number;
  readonly ts: Float64Array;
  readonly values: Float64Array;
  readonly startTs: Float64Array | undefined;
}

export interface HistogramSamples {
  readonly count: number;
  readonly ts: Float64Array;
  readonly histograms: readonly FloatHistogram[];
  readonly startTs: Float64Array | undefined;
}

const floatTs = new FloatScratch();
const floatValues = new FloatScratch();
const floatStartTs = new FloatScratch();

/** The floats. Copies are in shared memory, valid until the next call. */
export function floatsOf(samples: SampleColumns): FloatSamples {
  const { count, stale, histograms, startTs } = samples;
  if (stale === undefined && histograms === undefined) return samples;
  const ts = floatTs.take(count);
  const values = floatValues.take(count);
  const starts = startTs === undefined ? undefined : floatStartTs.take(count);
  let kept = 0;
  for (let index = 0; index < count; index += 1) {
    if (stale?.[index] === 1 || histograms?.[index] !== undefined) continue;
    ts[kept] = samples.ts[index] as number;
    values[kept] = samples.values[index] as number;
    if (starts !== undefined) starts[kept] = startTs?.[index] as number;
    kept += 1;
  }
  return { count: kept, ts, values, startTs: starts };
}

const histogramTs = new FloatScratch();
const histogramStartTs = new FloatScratch();

/** The histograms, valid until the next call; undefined when there are none. */
export function histogramsOf(samples: SampleColumns): HistogramSamples | undefined {
  const { count, stale, histograms, startTs } = samples;
  if (histograms === undefined) return undefined;
  const ts = histogramTs.take(count);
  const starts = startTs === undefined ? undefined : histogramStartTs.take(count);
  const kept: FloatHistogram[] = [];
  for (let index = 0; index < count; index += 1) {
    const histogram = histograms[index];
    if (histogram === undefined || stale?.[index] === 1) continue;
    ts[kept.length] = samples.ts[index] as number;
    if (starts !== undefined) starts[kept.length] = startTs?.[index] as number;
    kept.push(histogram);
  }
  return kept.length === 0
    ? undefined
    : { count: kept.length, ts, histograms: kept, startTs: starts };
}

const liveTs = new FloatScratch();
const liveValues = new FloatScratch();
const liveStartTs = new FloatScratch();

/** Floats and histograms together, without stale markers. Copies are valid until the next call. */
export function withoutStale(samples: SampleColumns): SampleColumns {
  const { count, stale, startTs } = samples;
  if (stale === undefined) return samples;
  const ts = liveTs.take(count);
  const values = liveValues.take(count);
  const starts = startTs === undefined ? undefined : liveStartTs.take(count);
  const histograms: (FloatHistogram | undefined)[] | undefined =
    samples.histograms === undefined ? undefined : [];
  let kept = 0;
  for (let index = 0; index < count; index += 1) {
    if (stale[index] === 1) continue;
    ts[kept] = samples.ts[index] as number;
    values[kept] = samples.values[index] as number;
    if (starts !== undefined) starts[kept] = startTs?.[index] as number;
    histograms?.push(samples.histograms?.[index]);
    kept += 1;
  }
  return { count: kept, ts, values, stale: undefined, histograms, startTs: starts };
}
