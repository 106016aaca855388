/**
 * Samples for tests of PromQL: made up, but the same each time, and as text, as remote writes and
 * as the engine's own series.
 */
import { compressSnappy } from "../../src/kinds/ask/metrics/core/ingest/wire/snappy.ts";
import { Labels, type RawSeries } from "../../src/kinds/ask/promql/core/index.ts";

export interface DataSeries {
  /** Including `__name__`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, ascending. */
  readonly ts: Float64Array;
  readonly values: Float64Array;
}

export interface Times {
  readonly startMs: number;
  readonly stepMs: number;
  readonly count: number;
}

/** `values` are computed from the sample's index. */
export function dataSeries(
  labels: Readonly<Record<string, string>>,
  { startMs, stepMs, count }: Times,
  valueAt: (index: number) => number,
): DataSeries {
  return {
    labels,
    ts: Float64Array.from({ length: count }, (_, index) => startMs + index * stepMs),
    values: Float64Array.from({ length: count }, (_, index) => valueAt(index)),
  };
}

export const dayStepMs = 20_000;

/**
 * 24 hours of counters up to `endMs`, which start again now and then: 414,816 samples, so that the
 * planner wants four shards.
 */
export function dayOfCounters(name: string, endMs: number): DataSeries[] {
  const stepMs = dayStepMs;
  const count = 86_400_000 / stepMs + 1;
  const times = { startMs: endMs - 86_400_000, stepMs, count };
  return Array.from({ length: 96 }, (_, series) => {
    const labels = { __name__: name, job: `job-${series % 4}`, pod: `pod-${series}` };
    const lifetime = 700 + series * 13;
    return dataSeries(labels, times, (index) => (index % lifetime) * (1 + (series % 7)));
  });
}

/** The samples before a moment, and those from then on. */
export function splitAt(
  all: readonly DataSeries[],
  atMs: number,
): { readonly before: DataSeries[]; readonly after: DataSeries[] } {
  const cut = (from: number, to: number): DataSeries[] =>
    all.flatMap(({ labels, ts, values }) => {
      const [first, end] = [lowerBound(ts, from), lowerBound(ts, to)];
      if (first === end) return [];
      return [{ labels, ts: ts.subarray(first, end), values: values.subarray(first, end) }];
    });
  return {
    before: cut(Number.NEGATIVE_INFINITY, atMs),
    after: cut(atMs, Number.POSITIVE_INFINITY),
  };
}

function lowerBound(ts: Float64Array, atMs: number): number {
  const found = ts.findIndex((each) => each >= atMs);
  return found === -1 ? ts.length : found;
}

/** In OpenMetrics, with timestamps. */
export function openMetricsText(all: readonly DataSeries[]): string {
  const lines: string[] = [];
  for (const { labels, ts, values } of all) {
    const { __name__: name, ...rest } = labels;
    const pairs = Object.entries(rest).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    const series = `${name}{${pairs.join(",")}}`;
    for (const [index, at] of ts.entries()) {
      lines.push(`${series} ${numberText(values[index] ?? 0)} ${at / 1000}`);
    }
  }
  return `${lines.join("\n")}\n# EOF\n`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

export function toRawSeries({ labels, ts, values }: DataSeries): RawSeries {
  const samples = { count: ts.length, ts, values };
  const nothingElse = { stale: undefined, startTs: undefined, histograms: undefined };
  return { labels: Labels.of(labels), samples: { ...samples, ...nothingElse } };
}

/**
 * A remote write request of the first protocol, compressed. Written down here for speed: a load
 * test sends millions.
 */
export function remoteWriteBody(all: readonly DataSeries[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  for (const { labels, ts, values } of all) {
    const series = [labelBytes(labels), sampleBytes(ts, values)];
    const length = series.reduce((sum, { byteLength }) => sum + byteLength, 0);
    parts.push(Uint8Array.of(0x0a, ...varint(length)), ...series);
  }
  return Uint8Array.from(compressSnappy(Buffer.concat(parts)));
}

const knownLabels = new WeakMap<object, Uint8Array>();

function labelBytes(labels: Readonly<Record<string, string>>): Uint8Array {
  const known = knownLabels.get(labels);
  if (known !== undefined) return known;
  const field = (tag: number, text: string): Buffer => {
    const bytes = Buffer.from(text);
    return Buffer.concat([Uint8Array.of(tag, ...varint(bytes.length)), bytes]);
  };
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const encoded = Buffer.concat(
    pairs.flatMap(([name, value]) => {
      const label = Buffer.concat([field(0x0a, name), field(0x12, value)]);
      return [Uint8Array.of(0x0a, ...varint(label.length)), label];
    }),
  );
  knownLabels.set(labels, encoded);
  return encoded;
}

function sampleBytes(ts: Float64Array, values: Float64Array): Uint8Array {
  const bytes = Buffer.alloc(ts.length * sampleBytesMax);
  let length = 0;
  for (const [index, at] of ts.entries()) {
    const time = varint(at);
    bytes[length] = 0x12;
    bytes[length + 1] = 10 + time.length;
    bytes[length + 2] = 0x09;
    bytes.writeDoubleLE(values[index] ?? 0, length + 3);
    bytes[length + 11] = 0x10;
    bytes.set(time, length + 12);
    length += 12 + time.length;
  }
  return bytes.subarray(0, length);
}

/** Two tags, two lengths, eight bytes of value, and a time far beyond ours. */
const sampleBytesMax = 22;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return bytes;
}
