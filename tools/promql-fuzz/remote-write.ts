/**
 * Series as a remote-write 1.0 request, in snappy blocks of literals: what a Prometheus takes,
 * written for tests only.
 */
import type { FloatHistogram, RawSeries, Span } from "../../src/kinds/ask/promql/core/index.ts";

/** The NaN 0x7ff0000000000002, little-endian. */
const staleMarker = Buffer.from([2, 0, 0, 0, 0, 0, 0xf0, 0x7f]);
const hints = { unknown: 0, reset: 1, not_reset: 2, gauge: 3 } as const;

export function encodeWriteRequest(series: readonly RawSeries[]): Uint8Array {
  return snappyLiterals(Buffer.concat(series.flatMap(timeSeries)));
}

/**
 * A Prometheus takes the floats of an entry before its histograms, so that each run of either has
 * an entry of its own.
 */
function timeSeries({ labels, samples }: RawSeries): Buffer[] {
  const pair = (name: string, value: string) =>
    field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from(value))]));
  const head = Buffer.concat([...labels.entries()].map(([name, value]) => pair(name, value)));
  const entries: { readonly kind: "float" | "histogram"; readonly parts: Buffer[] }[] = [];
  const add = (kind: "float" | "histogram", part: Buffer) => {
    const last = entries.at(-1);
    if (last?.kind === kind) last.parts.push(part);
    else entries.push({ kind, parts: [head, part] });
  };
  for (let index = 0; index < samples.count; index += 1) {
    const ts = samples.ts[index] as number;
    const histogram = samples.histograms?.[index];
    const stale = samples.stale?.[index] === 1;
    // A marker is of the kind that the series had before it.
    if (histogram !== undefined || (stale && entries.at(-1)?.kind === "histogram")) {
      add("histogram", field(4, histogramMessage(histogram, ts)));
    } else {
      const value = stale ? staleMarker : double(samples.values[index] as number);
      add("float", field(2, Buffer.concat([fixed(1, value), varintField(2, ts)])));
    }
  }
  return entries.map(({ parts }) => field(1, Buffer.concat(parts)));
}

/** `undefined`: the series ends. */
function histogramMessage(histogram: FloatHistogram | undefined, ts: number): Buffer {
  if (histogram === undefined) {
    return Buffer.concat([fixed(2, double(0)), fixed(3, staleMarker), varintField(15, ts)]);
  }
  return Buffer.concat([
    fixed(2, double(histogram.count)),
    fixed(3, double(histogram.sum)),
    varintField(4, zigzag(histogram.schema)),
    fixed(5, double(histogram.zeroThreshold)),
    fixed(7, double(histogram.zeroCount)),
    ...histogram.negativeSpans.map((span) => field(8, spanMessage(span))),
    field(10, doubles(histogram.negativeBuckets)),
    ...histogram.positiveSpans.map((span) => field(11, spanMessage(span))),
    field(13, doubles(histogram.positiveBuckets)),
    varintField(14, hints[histogram.counterResetHint]),
    varintField(15, ts),
    field(16, doubles(histogram.customValues)),
  ]);
}

function spanMessage({ offset, length }: Span): Buffer {
  return Buffer.concat([varintField(1, zigzag(offset)), varintField(2, length)]);
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function doubles(values: readonly number[]): Buffer {
  return Buffer.concat(values.map(double));
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function fixed(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 1), bytes]);
}

function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function snappyLiterals(bytes: Buffer): Buffer {
  const parts = [varint(bytes.length)];
  for (let start = 0; start < bytes.length; start += 60) {
    const chunk = bytes.subarray(start, start + 60);
    parts.push(Buffer.from([(chunk.length - 1) * 4]), chunk);
  }
  return Buffer.concat(parts);
}
