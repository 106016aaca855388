/** Batches and series for tests, and a comparable form that does not depend on their columns. */
import type {
  FloatHistogram,
  Labels,
  Matcher,
  RawSeries,
  SampleColumns,
} from "../../promql/core/index.ts";
import type { SampleBatch } from "../core/model.ts";

export interface TestSample {
  readonly ts: number;
  readonly value?: number;
  readonly stale?: boolean;
  readonly startTs?: number;
  readonly histogram?: FloatHistogram;
}

export const everySeries: readonly Matcher[] = [{ name: "__name__", op: "!=", value: "" }];

export function testHistogram(count: number): FloatHistogram {
  return {
    counterResetHint: "unknown",
    schema: 0,
    zeroThreshold: 0.001,
    zeroCount: 1,
    count: count + 1,
    sum: count * 2,
    positiveSpans: [{ offset: 0, length: 2 }],
    positiveBuckets: [count / 2, count / 2],
    negativeSpans: [],
    negativeBuckets: [],
    customValues: [],
  };
}

export function columnsOf(samples: readonly TestSample[]): SampleColumns {
  return {
    count: samples.length,
    ts: Float64Array.from(samples, ({ ts }) => ts),
    values: Float64Array.from(samples, ({ value }) => value ?? 0),
    stale: samples.some(({ stale }) => stale)
      ? Uint8Array.from(samples, ({ stale }) => (stale === true ? 1 : 0))
      : undefined,
    startTs: samples.some(({ startTs }) => startTs !== undefined)
      ? Float64Array.from(samples, ({ startTs }) => startTs ?? 0)
      : undefined,
    histograms: samples.some((sample) => sample.histogram !== undefined)
      ? samples.map((sample) => sample.histogram)
      : undefined,
  };
}

export function batchOf(rows: readonly (readonly [Labels, TestSample])[]): SampleBatch {
  const series = [...new Map(rows.map(([labels]) => [labels.key, labels])).values()];
  const indexes = new Map(series.map((labels, index) => [labels.key, index]));
  return {
    ...columnsOf(rows.map(([, sample]) => sample)),
    series,
    seriesIndex: Uint32Array.from(rows, ([labels]) => indexes.get(labels.key) as number),
    metadata: [],
    exemplars: [],
  };
}

/** A form for comparisons. */
export function meaningOf({ labels, samples }: RawSeries): unknown {
  const rows = Array.from({ length: samples.count }, (_, index) => {
    const stale = samples.stale?.[index] === 1;
    const found = samples.histograms?.[index];
    return [
      samples.ts[index],
      stale ? "stale" : (found ?? samples.values[index]),
      samples.startTs?.[index] ?? 0,
    ];
  });
  return [labels.pairs, rows];
}

/** Ignores reset hints, because they depend on how the samples arrived. */
export function meaningButHints({ labels, samples }: RawSeries): unknown {
  const histograms = samples.histograms?.map(
    (histogram) => histogram && { ...histogram, counterResetHint: "unknown" as const },
  );
  return meaningOf({ labels, samples: { ...samples, histograms } });
}
