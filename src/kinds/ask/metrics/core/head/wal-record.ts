/**
 * What one append adds, as a record of the write-ahead log. It has only accepted samples, so that a
 * replay makes no decisions. The first record of a generation's files that uses a series defines
 * it.
 *
 *   header      version, flags, counts and lengths (40 bytes)
 *   columns     ts, values, start times if flagged (float64); series numbers (uint32); stale
 *               markers if flagged (uint8)
 *   histograms  for each: index of its sample, length (uint32), bytes
 *   series      for each: number, length (uint32), labels as JSON
 *   metadata, exemplars   as JSON
 */
import { OperatingError } from "../../../../../ground/kernel/errors.ts";
import { type FloatHistogram, Labels } from "../../../promql/core/index.ts";
import { decodeHistogram, encodeHistogram } from "../histogram-bytes.ts";
import type { Exemplar, MetricMetadata } from "../model.ts";

export interface WalRecord {
  readonly count: number;
  /** For each sample, the number of its series. */
  readonly refs: Uint32Array;
  readonly ts: Float64Array;
  readonly values: Float64Array;
  readonly stale: Uint8Array | undefined;
  readonly startTs: Float64Array | undefined;
  /** Each histogram with the index of its sample. */
  readonly histograms: readonly (readonly [index: number, histogram: FloatHistogram])[];
  readonly series: readonly (readonly [ref: number, labelsJson: string])[];
  readonly metadata: readonly MetricMetadata[];
  readonly exemplars: readonly Exemplar[];
}

export const emptyRecord: WalRecord = {
  count: 0,
  refs: new Uint32Array(0),
  ts: new Float64Array(0),
  values: new Float64Array(0),
  stale: undefined,
  startTs: undefined,
  histograms: [],
  series: [],
  metadata: [],
  exemplars: [],
};

const version = 1;
const headerBytes = 40;
const [flagStale, flagStartTs] = [1, 2];
const utf8 = new TextEncoder();
const text = new TextDecoder();
const nothing = new Uint8Array(0);

export function encodeWalRecord(record: WalRecord): Uint8Array {
  const { count, stale, startTs } = record;
  const histograms = pack(record.histograms.map(([index, h]) => [index, encodeHistogram(h)]));
  const series = pack(record.series.map(([ref, json]) => [ref, utf8.encode(json)]));
  const metadata = jsonBytes(record.metadata);
  const exemplars = jsonBytes(
    record.exemplars.map((one) => [one.series.pairs, one.labels.pairs, float(one.value), one.ts]),
  );
  const columnsBytes =
    count * (20 + (startTs === undefined ? 0 : 8) + (stale === undefined ? 0 : 1));
  const parts = [histograms, series, metadata, exemplars];
  const bytes = new Uint8Array(
    headerBytes + columnsBytes + parts.reduce((sum, part) => sum + part.length, 0),
  );
  const view = new DataView(bytes.buffer);
  view.setUint32(0, version, true);
  const flags = (stale === undefined ? 0 : flagStale) | (startTs === undefined ? 0 : flagStartTs);
  view.setUint32(4, flags, true);
  view.setUint32(8, count, true);
  parts.forEach((part, index) => {
    view.setUint32(12 + index * 4, part.length, true);
  });
  let at = headerBytes;
  const put = (part: Float64Array | Uint32Array | Uint8Array | undefined, width: number): void => {
    if (part === undefined) return;
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, count * width), at);
    at += count * width;
  };
  put(record.ts, 8);
  put(record.values, 8);
  put(startTs, 8);
  put(record.refs, 4);
  put(stale, 1);
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Throws for a payload that makes no sense: its checksum was right, so it is newer or our bug. */
export function decodeWalRecord(payload: Uint8Array): WalRecord {
  // A copy, because columns must be aligned and outlive the file's buffer.
  const bytes = new Uint8Array(payload);
  const view = new DataView(bytes.buffer);
  if (bytes.length < headerBytes || view.getUint32(0, true) !== version) throw unreadable();
  const flags = view.getUint32(4, true);
  const count = view.getUint32(8, true);
  const lengths = [0, 1, 2, 3].map((index) => view.getUint32(12 + index * 4, true));
  let at = headerBytes;
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw unreadable();
    const taken = bytes.subarray(at, at + length);
    at += length;
    return taken;
  };
  const floats = (): Float64Array =>
    new Float64Array(bytes.buffer, take(count * 8).byteOffset, count);
  const [ts, values] = [floats(), floats()];
  const startTs = (flags & flagStartTs) === 0 ? undefined : floats();
  const refs = new Uint32Array(bytes.buffer, take(count * 4).byteOffset, count);
  const stale = (flags & flagStale) === 0 ? undefined : take(count);
  const [histograms, series, metadata, exemplars] = lengths.map(take);
  if (at !== bytes.length) throw unreadable();
  return {
    count,
    refs,
    ts,
    values,
    stale,
    startTs,
    histograms: unpack(histograms).map(([index, blob]) => [index, decodeHistogram(blob)]),
    series: unpack(series).map(([ref, blob]) => [ref, text.decode(blob)]),
    metadata: parseJson<MetricMetadata[]>(metadata) ?? [],
    exemplars: (parseJson<ExemplarJson[]>(exemplars) ?? []).map(exemplarOf),
  };
}

type ExemplarJson = [series: string[], labels: string[], value: number | string, ts: number];

function exemplarOf([series, labels, value, ts]: ExemplarJson): Exemplar {
  return { series: new Labels(series), labels: new Labels(labels), value: Number(value), ts };
}

/** Text for NaN, infinities and -0, which JSON cannot represent. */
function float(value: number): number | string {
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : Object.is(value, -0)
      ? "-0"
      : String(value);
}

function jsonBytes(items: readonly unknown[]): Uint8Array {
  return items.length === 0 ? nothing : utf8.encode(JSON.stringify(items));
}

function parseJson<T>(bytes: Uint8Array | undefined): T | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  return JSON.parse(text.decode(bytes)) as T;
}

function pack(items: readonly (readonly [number, Uint8Array])[]): Uint8Array {
  if (items.length === 0) return nothing;
  const bytes = new Uint8Array(items.reduce((sum, [, blob]) => sum + 8 + blob.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [number, blob] of items) {
    view.setUint32(at, number, true);
    view.setUint32(at + 4, blob.length, true);
    bytes.set(blob, at + 8);
    at += 8 + blob.length;
  }
  return bytes;
}

function unpack(bytes: Uint8Array = nothing): [number, Uint8Array][] {
  const items: [number, Uint8Array][] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    if (at + 8 > bytes.length) throw unreadable();
    const end = at + 8 + view.getUint32(at + 4, true);
    if (end > bytes.length) throw unreadable();
    items.push([view.getUint32(at, true), bytes.subarray(at + 8, end)]);
    at = end;
  }
  return items;
}

function unreadable(): OperatingError {
  return new OperatingError("store_corrupt", "never", "a record of the log cannot be read");
}
