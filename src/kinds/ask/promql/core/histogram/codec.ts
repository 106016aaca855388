/**
 * Encodes histograms as bytes, for segments, write-ahead logs and artifacts.
 *
 *   version       1 byte, 1
 *   flags         1 byte: bits 0-1 the counter reset hint, 2 counts are whole, 3 zero bucket,
 *                 4 negative side
 *   schema        zigzag varint
 *   sum           float64
 *   count         a count
 *   zero bucket   if flagged: threshold float64, count a count
 *   custom bounds if the schema has them: their number as varint, then float64 each
 *   positive side, negative side if flagged: number of spans as varint; for each: offset zigzag
 *                 varint, length varint; then the buckets
 *
 * A count is a varint if counts are whole, otherwise a float64. Whole buckets are zigzag varints of
 * the difference from the one before. Numbers are little-endian. Invalid bytes are refused before
 * anything is allocated for them: a span takes at least two bytes, a bucket one.
 */
import { isExponentialSchema } from "./bounds.ts";
import { sameBounds } from "./custom-buckets.ts";
import {
  type CounterResetHint,
  customBucketsSchema,
  type FloatHistogram,
  type Span,
} from "./float-histogram.ts";
import { sameSpans } from "./layout.ts";

const version = 1;
const hints: readonly CounterResetHint[] = ["unknown", "reset", "not_reset", "gauge"];
const flagWhole = 4;
const flagZero = 8;
const flagNegative = 16;

/** Span offsets and lengths are 32-bit numbers elsewhere, and no index may exceed that. */
const indexMax = 2 ** 31 - 1;

const noSpans: readonly Span[] = [];
const noNumbers: readonly number[] = [];

/** Throws for an unknown schema, and for spans that overlap or do not fit the buckets. */
export function encodeHistogram(histogram: FloatHistogram): Uint8Array {
  checkSchema(histogram.schema);
  const whole = hasWholeCounts(histogram);
  const custom = histogram.schema === customBucketsSchema;
  const hasZero = !Object.is(histogram.zeroThreshold, 0) || !Object.is(histogram.zeroCount, 0);
  const hasNegative = histogram.negativeSpans.length + histogram.negativeBuckets.length > 0;
  const writer = new Writer(bytesMax(histogram));
  writer.byte(version);
  writer.byte(
    hints.indexOf(histogram.counterResetHint) |
      (whole ? flagWhole : 0) |
      (hasZero ? flagZero : 0) |
      (hasNegative ? flagNegative : 0),
  );
  writer.zigzag(histogram.schema);
  writer.float(histogram.sum);
  writer.count(histogram.count, whole);
  if (hasZero) {
    writer.float(histogram.zeroThreshold);
    writer.count(histogram.zeroCount, whole);
  }
  if (custom) {
    writer.varint(histogram.customValues.length);
    for (const bound of histogram.customValues) writer.float(bound);
  }
  writer.side(histogram.positiveSpans, histogram.positiveBuckets, whole);
  if (hasNegative) writer.side(histogram.negativeSpans, histogram.negativeBuckets, whole);
  return writer.finish();
}

export interface DecodedHistogram {
  readonly histogram: FloatHistogram;
  /** The offset after the histogram. */
  readonly next: number;
}

/**
 * `like` is an earlier histogram of the series: equal spans and bounds are shared, which saves
 * memory and speeds up comparisons. Throws on bytes that `encodeHistogram` cannot have made.
 */
export function decodeHistogram(
  bytes: Uint8Array,
  offset: number,
  like?: FloatHistogram,
): DecodedHistogram {
  const reader = new Reader(bytes, offset);
  if (reader.byte() !== version) throw malformed("unknown version");
  const flags = reader.byte();
  if (flags >= flagNegative * 2) throw malformed("unknown flags");
  const whole = (flags & flagWhole) !== 0;
  const schema = reader.zigzag();
  checkSchema(schema);
  const custom = schema === customBucketsSchema;
  const sum = reader.float();
  const count = reader.count(whole);
  const hasZero = (flags & flagZero) !== 0;
  const zeroThreshold = hasZero ? reader.float() : 0;
  const zeroCount = hasZero ? reader.count(whole) : 0;
  const customValues = custom ? reader.bounds(like?.customValues) : noNumbers;
  const positiveSpans = reader.spans(like?.positiveSpans);
  const positiveBuckets = reader.buckets(positiveSpans, whole);
  const hasNegative = (flags & flagNegative) !== 0;
  const negativeSpans = hasNegative ? reader.spans(like?.negativeSpans) : noSpans;
  const negativeBuckets = hasNegative ? reader.buckets(negativeSpans, whole) : noNumbers;
  const histogram: FloatHistogram = {
    counterResetHint: hints[flags & 3] as CounterResetHint,
    schema,
    zeroThreshold,
    zeroCount,
    count,
    sum,
    positiveSpans,
    positiveBuckets,
    negativeSpans,
    negativeBuckets,
    customValues,
  };
  return { histogram, next: reader.at };
}

function hasWholeCounts(histogram: FloatHistogram): boolean {
  return (
    isWhole(histogram.count) &&
    isWhole(histogram.zeroCount) &&
    areWhole(histogram.positiveBuckets) &&
    areWhole(histogram.negativeBuckets)
  );
}

function areWhole(values: readonly number[]): boolean {
  for (let index = 0; index < values.length; index += 1) {
    if (!isWhole(values[index] as number)) return false;
  }
  return true;
}

/** Zigzag doubles a difference, which must stay exact. */
const wholeMax = 2 ** 52 - 1;

/** Excludes -0, which would be decoded as 0. */
function isWhole(value: number): boolean {
  return value >= 0 && value <= wholeMax && Math.floor(value) === value && !Object.is(value, -0);
}

const varintBytesMax = 8;

function bytesMax(histogram: FloatHistogram): number {
  const spans = histogram.positiveSpans.length + histogram.negativeSpans.length;
  const numbers =
    histogram.positiveBuckets.length +
    histogram.negativeBuckets.length +
    histogram.customValues.length;
  return 2 + 8 * varintBytesMax + spans * 2 * varintBytesMax + numbers * varintBytesMax;
}

/** Reused by every encoding, so that only the result is allocated. */
let scratch = new Uint8Array(4_096);

class Writer {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(capacity: number) {
    if (scratch.length < capacity) scratch = new Uint8Array(capacity * 2);
    this.#bytes = scratch;
    this.#view = new DataView(scratch.buffer);
  }

  byte(value: number): void {
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  float(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Takes any safe integer, also beyond 32 bits. */
  varint(value: number): void {
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.byte((rest % 0x80) + 0x80);
      rest = Math.floor(rest / 0x80);
    }
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.byte(rest);
  }

  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  count(value: number, whole: boolean): void {
    if (whole) this.varint(value);
    else this.float(value);
  }

  side(spans: readonly Span[], buckets: readonly number[], whole: boolean): void {
    this.varint(spans.length);
    checkSpans(spans);
    let total = 0;
    for (const { offset, length } of spans) {
      this.zigzag(offset);
      this.varint(length);
      total += length;
    }
    if (total !== buckets.length) {
      throw malformed(`spans of ${total} buckets, but ${buckets.length} buckets`);
    }
    let before = 0;
    for (const bucket of buckets) {
      if (whole) this.zigzag(bucket - before);
      else this.float(bucket);
      before = bucket;
    }
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at);
  }
}

class Reader {
  at: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = offset;
  }

  byte(): number {
    const value = this.#bytes[this.at];
    if (value === undefined) throw malformed("ends early");
    this.at += 1;
    return value;
  }

  float(): number {
    if (this.at + 8 > this.#bytes.length) throw malformed("ends early");
    const value = this.#view.getFloat64(this.at, true);
    this.at += 8;
    return value;
  }

  varint(): number {
    const first = this.byte();
    return first < 0x80 ? first : this.#longVarint(first & 0x7f);
  }

  #longVarint(first: number): number {
    let value = first;
    let scale = 0x80;
    for (let count = 1; count < varintBytesMax; count += 1) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    throw malformed("a number is too long");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  count(whole: boolean): number {
    return whole ? this.varint() : this.float();
  }

  bounds(like: readonly number[] | undefined): readonly number[] {
    const count = this.varint();
    this.#expect(count, 8);
    const bounds: number[] = [];
    for (let index = 0; index < count; index += 1) bounds.push(this.float());
    return like !== undefined && sameBounds(like, bounds) ? like : bounds;
  }

  spans(like: readonly Span[] | undefined): readonly Span[] {
    const count = this.varint();
    this.#expect(count, 2);
    const spans: Span[] = [];
    for (let at = 0; at < count; at += 1) {
      spans.push({ offset: this.zigzag(), length: this.varint() });
    }
    checkSpans(spans);
    return like !== undefined && sameSpans(like, spans) ? like : spans;
  }

  buckets(spans: readonly Span[], whole: boolean): readonly number[] {
    let count = 0;
    for (const { length } of spans) count += length;
    this.#expect(count, whole ? 1 : 8);
    const buckets: number[] = [];
    let before = 0;
    for (let index = 0; index < count; index += 1) {
      before = whole ? before + this.zigzag() : this.float();
      buckets.push(before);
    }
    return buckets;
  }

  /** Throws unless at least `count` times `bytesEach` bytes are left. */
  #expect(count: number, bytesEach: number): void {
    if (count * bytesEach > this.#bytes.length - this.at) throw malformed("ends early");
  }
}

function checkSchema(schema: number): void {
  const known = schema === customBucketsSchema || isExponentialSchema(schema);
  if (!known || !Number.isInteger(schema)) throw malformed("unknown schema");
}

function checkSpans(spans: readonly Span[]): void {
  let index = 0;
  for (let at = 0; at < spans.length; at += 1) {
    const { offset, length } = spans[at] as Span;
    if (!Number.isInteger(offset) || !Number.isInteger(length) || length < 0) {
      throw malformed("a span is no span");
    }
    if (at > 0 && offset < 0) throw malformed("spans overlap");
    index += offset + length;
    if (Math.abs(offset) > indexMax || length > indexMax || Math.abs(index) > indexMax) {
      throw malformed("a span is out of range");
    }
  }
}

function malformed(why: string): Error {
  return new Error(`malformed histogram: ${why}`);
}
