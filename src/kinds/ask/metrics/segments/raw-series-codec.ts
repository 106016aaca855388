/**
 * Series with all of their samples as one Parquet file: for slices of the head and for a leaf's raw
 * samples. Each series is a row, and each of its columns is packed into one value, so that reading
 * and writing are copying.
 *
 *   labels      as JSON
 *   samples     their number
 *   ts, value   float64, little-endian
 *   stale       one byte each; empty when there is none
 *   start_ts    float64; empty when all are unknown
 *   histograms  for each: its index and length (uint32), then its bytes
 */

import {
  ChunkReader,
  type ColumnSpec,
  chunkBytes,
  columnIndex,
  type ParquetFooter,
  parquetRuntime,
  readFooter,
  writeParquet,
} from "../../../../data/parquet/index.ts";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { FloatHistogram, Labels, RawSeries, SampleColumns } from "../../promql/core/index.ts";
import { decodeHistogram, encodeHistogram } from "../core/histogram-bytes.ts";
import { labelsJson, parseLabelsJson } from "../core/labels-json.ts";

const schema: readonly ColumnSpec[] = [
  { name: "labels", type: "text" },
  { name: "samples", type: "int32", encoding: "delta" },
  { name: "ts", type: "bytes", codec: "none" },
  { name: "value", type: "bytes", codec: "none" },
  { name: "stale", type: "bytes" },
  { name: "start_ts", type: "bytes" },
  { name: "histograms", type: "bytes" },
];

const groupRowsMax = 65_536;
const groupSamplesMax = 4 * 1024 * 1024;
const nothing = new Uint8Array(0);
const zstdLevel = 1;

/** Keeps the order. The same series give the same bytes. `keyValues` go to the footer. */
export function encodeRawSeries(
  series: readonly RawSeries[],
  keyValues: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  return writeParquet(schema, rowGroupsOf(series), parquetRuntime, { zstdLevel, keyValues });
}

/** `labelsOf` may return labels that are already known for the text. */
export function decodeRawSeries(
  bytes: Uint8Array,
  labelsOf: (json: string) => Labels = parseLabelsJson,
): RawSeries[] {
  const footer = readFooter(bytes);
  const series: RawSeries[] = [];
  for (let group = 0; group < footer.rowGroups.length; group += 1) {
    decodeGroup(bytes, footer, group, labelsOf, series);
  }
  return series;
}

function* rowGroupsOf(
  series: readonly RawSeries[],
): Generator<(Int32Array | string[] | Uint8Array[])[]> {
  let start = 0;
  while (start < series.length) {
    let end = start;
    let sampleCount = 0;
    while (end < series.length && end - start < groupRowsMax) {
      const { count } = (series[end] as RawSeries).samples;
      if (end > start && sampleCount + count > groupSamplesMax) break;
      sampleCount += count;
      end += 1;
    }
    yield rowGroupOf(series.slice(start, end));
    start = end;
  }
}

function rowGroupOf(rows: readonly RawSeries[]): (Int32Array | string[] | Uint8Array[])[] {
  return [
    rows.map(({ labels }) => labelsJson(labels)),
    Int32Array.from(rows, ({ samples }) => samples.count),
    rows.map(({ samples }) => memoryOf(samples.ts, samples.count)),
    rows.map(({ samples }) => memoryOf(samples.values, samples.count)),
    rows.map(({ samples }) => samples.stale?.subarray(0, samples.count) ?? nothing),
    rows.map(({ samples }) => memoryOf(samples.startTs, samples.count)),
    rows.map(({ samples }) => packHistograms(samples)),
  ];
}

function memoryOf(values: Float64Array | undefined, count: number): Uint8Array {
  if (values === undefined) return nothing;
  return new Uint8Array(values.buffer, values.byteOffset, count * 8);
}

function packHistograms({ histograms, count }: SampleColumns): Uint8Array {
  if (histograms === undefined) return nothing;
  const parts: Uint8Array[] = [];
  for (let index = 0; index < count; index += 1) {
    const histogram = histograms[index];
    if (histogram === undefined) continue;
    const bytes = encodeHistogram(histogram);
    parts.push(new Uint8Array(Uint32Array.of(index, bytes.length).buffer), bytes);
  }
  return Buffer.concat(parts);
}

function decodeGroup(
  file: Uint8Array,
  footer: ParquetFooter,
  group: number,
  labelsOf: (json: string) => Labels,
  out: RawSeries[],
): void {
  const open = (index: number): ChunkReader => {
    const { name, type } = schema[index] as ColumnSpec;
    const column = columnIndex(footer, name, type);
    const chunk = footer.rowGroups[group]?.chunks[column];
    assert(chunk !== undefined, "the footer was parsed");
    return new ChunkReader(footer, group, column, chunkBytes(file, chunk), parquetRuntime);
  };
  const [labels, counts] = [open(0).texts(), open(1).int32()];
  const [ts, values, stale] = [open(2).byteArrays(), open(3).byteArrays(), open(4).byteArrays()];
  const [startTs, histograms] = [open(5).byteArrays(), open(6).byteArrays()];
  for (let row = 0; row < labels.length; row += 1) {
    const count = counts[row] as number;
    const stales = stale[row] as Uint8Array;
    if (stales.length !== 0 && stales.length !== count) throw lying();
    out.push({
      labels: labelsOf(labels[row] as string),
      samples: {
        count,
        ts: numbersOf(ts[row] as Uint8Array, count),
        values: numbersOf(values[row] as Uint8Array, count),
        stale: stales.length === 0 ? undefined : stales,
        startTs:
          startTs[row]?.length === 0 ? undefined : numbersOf(startTs[row] as Uint8Array, count),
        histograms: unpackHistograms(histograms[row] as Uint8Array, count),
      },
    });
  }
}

function numbersOf(bytes: Uint8Array, count: number): Float64Array {
  if (bytes.length !== count * 8) throw lying();
  if (bytes.byteOffset % 8 === 0) return new Float64Array(bytes.buffer, bytes.byteOffset, count);
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return new Float64Array(copy.buffer);
}

function unpackHistograms(
  bytes: Uint8Array,
  count: number,
): (FloatHistogram | undefined)[] | undefined {
  if (bytes.length === 0) return undefined;
  const histograms: (FloatHistogram | undefined)[] = new Array(count).fill(undefined);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let last: FloatHistogram | undefined;
  for (let at = 0; at < bytes.length; ) {
    if (at + 8 > bytes.length) throw lying();
    const index = view.getUint32(at, true);
    const end = at + 8 + view.getUint32(at + 4, true);
    if (index >= count || end > bytes.length) throw lying();
    last = decodeHistogram(bytes.subarray(at + 8, end), last);
    histograms[index] = last;
    at = end;
  }
  return histograms;
}

function lying(): OperatingError {
  return new OperatingError("artifact_corrupt", "never", "raw series contradict themselves");
}
