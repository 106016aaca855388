/**
 * Encodes a batch as an uncompressed remote write request of either protocol. For tests and
 * benchmarks.
 */
import type { FloatHistogram, Labels, Span } from "../../../../promql/core/index.ts";
import type { SampleBatch } from "../../model.ts";
import { metricTypes } from "../wire/decoded-write.ts";
import { ProtoWriter, staleBytes } from "./proto-writer.ts";

const hints = ["unknown", "reset", "not_reset", "gauge"];

export function encodeRequest1(batch: SampleBatch): Uint8Array {
  const writer = new ProtoWriter();
  for (const series of batch.series.keys()) {
    writer.message(1, (inner) => {
      const labels = batch.series[series] as Labels;
      for (const [name, value] of labels.entries()) {
        inner.message(1, (label) => label.text(1, name).text(2, value));
      }
      writeSamples(inner, batch, series, { sample: 2, histogram: 4, hasStart: false });
      for (const exemplar of batch.exemplars.filter((one) => one.series === labels)) {
        inner.message(3, (message) => {
          for (const [name, value] of exemplar.labels.entries()) {
            message.message(1, (label) => label.text(1, name).text(2, value));
          }
          message.double(2, exemplar.value).integer(3, exemplar.ts);
        });
      }
    });
  }
  for (const { metric, type, help, unit } of batch.metadata) {
    writer.message(3, (inner) =>
      inner.integer(1, metricTypes.indexOf(type)).text(2, metric).text(4, help).text(5, unit),
    );
  }
  return writer.bytes();
}

export function encodeRequest2(batch: SampleBatch): Uint8Array {
  const symbols = new Map<string, number>([["", 0]]);
  const refOf = (text: string): number => {
    const known = symbols.get(text);
    if (known !== undefined) return known;
    symbols.set(text, symbols.size);
    return symbols.size - 1;
  };
  const body = new ProtoWriter();
  for (const series of batch.series.keys()) {
    const labels = batch.series[series] as Labels;
    body.message(5, (inner) => {
      inner.packedIntegers(1, labels.pairs.map(refOf));
      writeSamples(inner, batch, series, { sample: 2, histogram: 3, hasStart: true });
      for (const exemplar of batch.exemplars.filter((one) => one.series === labels)) {
        inner.message(4, (message) =>
          message
            .packedIntegers(1, exemplar.labels.pairs.map(refOf))
            .double(2, exemplar.value)
            .integer(3, exemplar.ts),
        );
      }
      const metadata = batch.metadata.find(({ metric }) => metric === labels.name);
      if (metadata === undefined) return;
      inner.message(5, (message) =>
        message
          .integer(1, metricTypes.indexOf(metadata.type))
          .integer(3, refOf(metadata.help))
          .integer(4, refOf(metadata.unit)),
      );
    });
  }
  const head = new ProtoWriter();
  for (const text of symbols.keys()) head.blob(4, new TextEncoder().encode(text));
  return head.raw(body.bytes()).bytes();
}

interface Layout {
  readonly sample: number;
  readonly histogram: number;
  readonly hasStart: boolean;
}

function writeSamples(
  writer: ProtoWriter,
  batch: SampleBatch,
  series: number,
  layout: Layout,
): void {
  for (let index = 0; index < batch.count; index += 1) {
    if (batch.seriesIndex[index] !== series) continue;
    const ts = batch.ts[index] as number;
    const startTs = layout.hasStart ? (batch.startTs?.[index] ?? 0) : 0;
    const histogram = batch.histograms?.[index];
    if (histogram !== undefined) {
      writer.message(layout.histogram, (inner) => writeHistogram(inner, histogram, ts, startTs));
      continue;
    }
    writer.message(layout.sample, (inner) => {
      if (batch.stale?.[index] === 1) inner.tag(1, 1).raw(staleBytes);
      else inner.double(1, batch.values[index] as number);
      inner.integer(2, ts).integer(3, startTs);
    });
  }
}

/** Writes a float histogram. */
export function writeHistogram(
  writer: ProtoWriter,
  histogram: FloatHistogram,
  ts: number,
  startTs: number,
): void {
  writer
    .double(2, histogram.count)
    .double(3, histogram.sum)
    .signed(4, histogram.schema)
    .double(5, histogram.zeroThreshold)
    .double(7, histogram.zeroCount);
  for (const span of histogram.negativeSpans) writer.message(8, (inner) => writeSpan(inner, span));
  writer.packedDoubles(10, histogram.negativeBuckets);
  for (const span of histogram.positiveSpans) writer.message(11, (inner) => writeSpan(inner, span));
  writer
    .packedDoubles(13, histogram.positiveBuckets)
    .integer(14, hints.indexOf(histogram.counterResetHint))
    .integer(15, ts)
    .packedDoubles(16, histogram.customValues)
    .integer(17, startTs);
}

export function writeSpan(writer: ProtoWriter, { offset, length }: Span): void {
  writer.signed(1, offset).integer(2, length);
}
