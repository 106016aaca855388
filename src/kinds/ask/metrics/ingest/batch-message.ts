/**
 * Converts batches and exemplars for other threads: `Labels` objects cannot be posted, their texts
 * can.
 */
import { Labels } from "../../promql/core/index.ts";
import type { Exemplar, SampleBatch } from "../core/model.ts";

export interface ExemplarMessage extends Omit<Exemplar, "series" | "labels"> {
  readonly series: readonly string[];
  readonly labels: readonly string[];
}

export interface BatchMessage extends Omit<SampleBatch, "series" | "exemplars"> {
  readonly series: readonly (readonly string[])[];
  readonly exemplars: readonly ExemplarMessage[];
}

/** Copies of the columns, cut to length, and the buffers to transfer. */
export function batchToMessage(batch: SampleBatch): {
  readonly message: BatchMessage;
  readonly transfer: readonly ArrayBuffer[];
} {
  const { count } = batch;
  const seriesIndex = batch.seriesIndex.slice(0, count);
  const ts = batch.ts.slice(0, count);
  const values = batch.values.slice(0, count);
  const stale = batch.stale?.slice(0, count);
  const startTs = batch.startTs?.slice(0, count);
  const columns = [seriesIndex, ts, values, stale, startTs];
  return {
    message: {
      count,
      seriesIndex,
      ts,
      values,
      stale,
      startTs,
      histograms: batch.histograms,
      metadata: batch.metadata,
      series: batch.series.map(({ pairs }) => pairs),
      exemplars: batch.exemplars.map(exemplarToMessage),
    },
    transfer: columns.flatMap((column) => (column === undefined ? [] : [column.buffer])),
  };
}

export function batchOfMessage(message: BatchMessage): SampleBatch {
  return {
    ...message,
    series: message.series.map((pairs) => new Labels(pairs)),
    exemplars: message.exemplars.map(exemplarOfMessage),
  };
}

export function exemplarToMessage({ series, labels, value, ts }: Exemplar): ExemplarMessage {
  return { series: series.pairs, labels: labels.pairs, value, ts };
}

export function exemplarOfMessage({ series, labels, value, ts }: ExemplarMessage): Exemplar {
  return { series: new Labels(series), labels: new Labels(labels), value, ts };
}
