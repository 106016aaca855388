/** PLAIN encoding of every type, and BYTE_STREAM_SPLIT of doubles. Little-endian. */
import { assert } from "../../../ground/kernel/errors.ts";
import { ByteSink } from "./byte-sink.ts";
import { BytesColumn } from "./packed-bytes.ts";
import { corrupt, unsupported } from "./parquet-error.ts";
import type { ParquetRuntime } from "./parquet-types.ts";

type Numbers = Int32Array | Float64Array | BigInt64Array;

/** A view of the numbers' own memory. */
export function encodeNumbers(values: Numbers): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

export function decodeNumbers(bytes: Uint8Array, out: Numbers): void {
  if (bytes.length !== out.byteLength) throw corrupt("a page has another number of values");
  new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes);
}

/** Converts between doubles that hold integers and 64-bit integers: two words, the upper signed. */
export function encodeIntegers(values: Float64Array): Uint8Array {
  const words = new Uint32Array(values.length * 2);
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] as number;
    assert(Number.isSafeInteger(value), "what is written can be read");
    const high = Math.floor(value / 2 ** 32);
    words[index * 2] = value - high * 2 ** 32;
    words[index * 2 + 1] = high;
  }
  return new Uint8Array(words.buffer);
}

export function decodeIntegers(bytes: Uint8Array, out: Float64Array): void {
  if (bytes.length !== out.length * 8) throw corrupt("a page has another number of values");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let index = 0; index < out.length; index += 1) {
    const value = view.getInt32(index * 8 + 4, true) * 2 ** 32 + view.getUint32(index * 8, true);
    if (!Number.isSafeInteger(value)) throw unsupported("an integer beyond the safe range");
    out[index] = value;
  }
}

/** First bytes of all values, then second bytes, and so on. */
export function encodeSplit(values: Float64Array): Uint8Array {
  const { length } = values;
  const bytes = encodeNumbers(values);
  const split = new Uint8Array(bytes.length);
  for (let plane = 0; plane < 8; plane += 1) {
    const start = plane * length;
    for (let index = 0, at = plane; index < length; index += 1, at += 8) {
      split[start + index] = bytes[at] as number;
    }
  }
  return split;
}

export function decodeSplit(bytes: Uint8Array, out: Float64Array): void {
  const { length } = out;
  if (bytes.length !== length * 8) throw corrupt("a page has another number of values");
  const words = new Int32Array(out.buffer, out.byteOffset, length * 2);
  const [b1, b2, b3, b4] = [length, length * 2, length * 3, length * 4];
  const [b5, b6, b7] = [length * 5, length * 6, length * 7];
  for (let index = 0; index < length; index += 1) {
    words[index * 2] =
      (bytes[index] as number) |
      ((bytes[b1 + index] as number) << 8) |
      ((bytes[b2 + index] as number) << 16) |
      ((bytes[b3 + index] as number) << 24);
    words[index * 2 + 1] =
      (bytes[b4 + index] as number) |
      ((bytes[b5 + index] as number) << 8) |
      ((bytes[b6 + index] as number) << 16) |
      ((bytes[b7 + index] as number) << 24);
  }
}

/** One bit per value, lowest first. */
export function encodeBooleans(values: Uint8Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(values.length / 8));
  for (let index = 0; index < values.length; index += 1) {
    if (values[index] !== 0) bits[index >>> 3] = (bits[index >>> 3] as number) | (1 << (index & 7));
  }
  return bits;
}

export function decodeBooleans(bytes: Uint8Array, out: Uint8Array): void {
  if (bytes.length !== Math.ceil(out.length / 8)) {
    throw corrupt("a page has another number of values");
  }
  for (let index = 0; index < out.length; index += 1) {
    out[index] = ((bytes[index >>> 3] as number) >>> (index & 7)) & 1;
  }
}

/** Encodes each value after its length. */
export function encodeByteArrays(values: readonly Uint8Array[]): Uint8Array {
  let total = 0;
  for (const value of values) total += 4 + value.length;
  const sink = new ByteSink(total);
  for (const value of values) {
    sink.uint32(value.length);
    if (value.length > 0) sink.bytes(value);
  }
  return sink.view();
}

export function encodeTexts(values: readonly string[], runtime: ParquetRuntime): Uint8Array {
  const all = values.join("");
  const bytes = runtime.encodeUtf8(all);
  if (bytes.length !== all.length) {
    return encodeByteArrays(values.map((value) => runtime.encodeUtf8(value)));
  }
  // Most columns are only ASCII: one conversion instead of thousands.
  const encoded = new Uint8Array(bytes.length + values.length * 4);
  const view = new DataView(encoded.buffer);
  let from = 0;
  let to = 0;
  for (const { length } of values) {
    view.setUint32(to, length, true);
    to += 4;
    for (const end = from + length; from < end; from += 1, to += 1) {
      encoded[to] = bytes[from] as number;
    }
  }
  return encoded;
}

/** Views of `bytes`. */
export function decodeByteArrays(bytes: Uint8Array, count: number): Uint8Array[] {
  const column = new BytesColumn(bytes, count);
  return Array.from({ length: count }, (_, index) => column.at(index));
}

export function decodeTexts(bytes: Uint8Array, count: number, runtime: ParquetRuntime): string[] {
  const column = new TextColumn(bytes, count, runtime);
  return Array.from({ length: count }, (_, index) => column.at(index));
}

/** Texts that stay in the page and are decoded on demand. */
export class TextColumn {
  readonly #bytes: BytesColumn;
  readonly #read: (start: number, end: number) => string;

  constructor(bytes: Uint8Array, count: number, runtime: ParquetRuntime) {
    this.#bytes = new BytesColumn(bytes, count);
    this.#read = runtime.utf8Reader(bytes);
  }

  get count(): number {
    return this.#bytes.count;
  }

  at(index: number): string {
    const start = this.#bytes.startOf(index);
    return this.#read(start, start + this.#bytes.lengthOf(index));
  }
}
