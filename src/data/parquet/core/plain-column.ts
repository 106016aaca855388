/**
 * A column given as arrays in Arrow's layout (values, a bitmap of those that are not NULL, texts as
 * offsets and bytes), in Parquet's plain encoding: NULLs are left out, bounds are known. Pure.
 */
import { encodeBooleans } from "./plain.ts";

/** The least and greatest value that is not NULL; texts as bytes. */
export interface ColumnBounds<T = number | bigint | Uint8Array> {
  readonly min: T;
  readonly max: T;
}

interface PlainColumnParts {
  /** Rows, NULLs included. */
  readonly length: number;
  /** The values that are not NULL, encoded. */
  readonly bytes: Uint8Array;
  /** Bit `i & 7` of byte `i >> 3` is set where row i has a value; `undefined`: all have one. */
  readonly present: Uint8Array | undefined;
  readonly nullCount: number;
  /** `undefined`: there is no value, or they have no reliable bounds. */
  readonly bounds: ColumnBounds | undefined;
  /** Of floating-point numbers: whether one is NaN. */
  readonly hasNan: boolean | undefined;
}

export class PlainColumn implements PlainColumnParts {
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly present: Uint8Array | undefined;
  readonly nullCount: number;
  readonly bounds: ColumnBounds | undefined;
  readonly hasNan: boolean | undefined;

  constructor(parts: PlainColumnParts) {
    this.length = parts.length;
    this.bytes = parts.bytes;
    this.present = parts.present;
    this.nullCount = parts.nullCount;
    this.bounds = parts.bounds;
    this.hasNan = parts.hasNan;
  }
}

export type PlainNumbers =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

export function plainNumbers(values: PlainNumbers, validity: Uint8Array | undefined): PlainColumn {
  const { present, nullCount } = presence(validity, values.length);
  const dense = present === undefined ? values : compact(values, present, nullCount);
  const bytes = numberBytes(dense);
  const { length } = values;
  return new PlainColumn({ length, bytes, present, nullCount, ...numberFacts(dense) });
}

/** Booleans as bytes 0 and 1. */
export function plainBooleans(values: Uint8Array, validity: Uint8Array | undefined): PlainColumn {
  const { present, nullCount } = presence(validity, values.length);
  const dense =
    present === undefined ? values : (compact(values, present, nullCount) as Uint8Array);
  const { bounds } = numberFacts(dense);
  const bytes = encodeBooleans(dense);
  const { length } = values;
  return new PlainColumn({ length, bytes, present, nullCount, bounds, hasNan: undefined });
}

/** Text `i` is `bytes[offsets[i] .. offsets[i + 1])`. */
export function plainTexts(
  offsets: Int32Array,
  bytes: Uint8Array,
  validity: Uint8Array | undefined,
): PlainColumn {
  const length = offsets.length - 1;
  const { present, nullCount } = presence(validity, length);
  const start = offsets[0] ?? 0;
  const encoded = new Uint8Array((offsets[length] ?? 0) - start + 4 * (length - nullCount));
  const view = new DataView(encoded.buffer);
  let at = 0;
  let min: Uint8Array | undefined;
  let max: Uint8Array | undefined;
  for (let row = 0; row < length; row += 1) {
    if (present !== undefined && !hasBit(present, row)) continue;
    const text = bytes.subarray(offsets[row], offsets[row + 1]);
    view.setUint32(at, text.length, true);
    encoded.set(text, at + 4);
    at += 4 + text.length;
    if (min === undefined || compareBytes(text, min) < 0) min = text;
    if (max === undefined || compareBytes(text, max) > 0) max = text;
  }
  const bounds =
    min === undefined || max === undefined ? undefined : { min: min.slice(), max: max.slice() };
  const own = { length, present, nullCount, bounds, hasNan: undefined };
  return new PlainColumn({ ...own, bytes: encoded.subarray(0, at) });
}

/** The bounds of two columns together. */
export function boundsOfBoth(
  one: ColumnBounds | undefined,
  other: ColumnBounds | undefined,
): ColumnBounds | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    min: isLess(other.min, one.min) ? other.min : one.min,
    max: isLess(one.max, other.max) ? other.max : one.max,
  };
}

function isLess(a: number | bigint | Uint8Array, b: number | bigint | Uint8Array): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b) < 0;
  return a < b;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const order = (a[index] as number) - (b[index] as number);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function hasBit(bits: Uint8Array, row: number): boolean {
  return (((bits[row >> 3] as number) >> (row & 7)) & 1) === 1;
}

/** A bitmap of exactly the rows, or none where every row has a value. */
function presence(
  validity: Uint8Array | undefined,
  length: number,
): { readonly present: Uint8Array | undefined; readonly nullCount: number } {
  if (validity === undefined) return { present: undefined, nullCount: 0 };
  const present = validity.slice(0, (length + 7) >> 3);
  if (length % 8 !== 0) {
    present[present.length - 1] =
      (present[present.length - 1] as number) & ((1 << (length % 8)) - 1);
  }
  let valueCount = 0;
  for (let bits of present) for (; bits !== 0; bits &= bits - 1) valueCount += 1;
  const nullCount = length - valueCount;
  return nullCount === 0 ? { present: undefined, nullCount } : { present, nullCount };
}

function compact(values: PlainNumbers, present: Uint8Array, nullCount: number): PlainNumbers {
  const dense = values.slice(0, values.length - nullCount);
  let at = 0;
  for (let row = 0; row < values.length; row += 1) {
    if (hasBit(present, row)) (dense as Float64Array)[at++] = values[row] as number;
  }
  return dense;
}

/** Integers of fewer than 32 bits become those of 32, which Parquet has. */
function numberBytes(values: PlainNumbers): Uint8Array {
  const wide = values.BYTES_PER_ELEMENT >= 4 ? values : Int32Array.from(values as Int8Array);
  return new Uint8Array(wide.buffer, wide.byteOffset, wide.byteLength);
}

function numberFacts(values: PlainNumbers): Pick<PlainColumnParts, "bounds" | "hasNan"> {
  const isFloat = values instanceof Float32Array || values instanceof Float64Array;
  let min: number | bigint | undefined;
  let max: number | bigint | undefined;
  let hasNan = false;
  for (const value of values) {
    if (Number.isNaN(value)) {
      hasNan = true;
      continue;
    }
    if (min === undefined || value < min) min = value;
    if (max === undefined || value > max) max = value;
  }
  const bounds = min === undefined || max === undefined ? undefined : { min, max };
  return { bounds, hasNan: isFloat ? hasNan : undefined };
}
