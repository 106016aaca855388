/** The least and greatest value of a page, as numbers for our reader and in Parquet's bytes. */
import type { ColumnSpec, ColumnStatistics, ColumnValues } from "./parquet-types.ts";
import { compareBytes, type PlainColumn } from "./plain-column.ts";

export interface PageStatistics extends ColumnStatistics {
  readonly minBytes: Uint8Array | undefined;
  readonly maxBytes: Uint8Array | undefined;
}

export const noStatistics: PageStatistics = {
  min: undefined,
  max: undefined,
  minBytes: undefined,
  maxBytes: undefined,
};
/** A longer text does not help a reader to skip row groups. */
const textBytesMax = 128;

export function statisticsOf(spec: ColumnSpec, values: ColumnValues): PageStatistics {
  if (values.length === 0) return noStatistics;
  if (values instanceof BigInt64Array) return bigintStatistics(values);
  if (
    values instanceof Float64Array ||
    values instanceof Int32Array ||
    values instanceof Uint8Array
  )
    return numberStatistics(spec, values);
  return noStatistics;
}

function numberStatistics(
  spec: ColumnSpec,
  values: Float64Array | Int32Array | Uint8Array,
): PageStatistics {
  let min = values[0] as number;
  let max = min;
  let sum = 0; // NaN if any value is.
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] as number;
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value * 0;
  }
  // Doubles with a NaN have no reliable order. An infinity is excluded too, which does no harm.
  if (spec.type === "double" && sum !== 0) return noStatistics;
  // The two zeros compare as equal, so a least zero is written as -0 and a greatest as +0.
  if (spec.type === "double" && min === 0) min = -0;
  if (spec.type === "double" && max === 0) max = 0;
  return { min, max, minBytes: numberBytes(spec, min), maxBytes: numberBytes(spec, max) };
}

/** Statistics of a column whose bounds are known. */
export function plainStatistics(spec: ColumnSpec, { bounds, hasNan }: PlainColumn): PageStatistics {
  if (bounds === undefined || hasNan === true) return noStatistics;
  const { min, max } = bounds;
  if (min instanceof Uint8Array && max instanceof Uint8Array) {
    const isLong = min.length > textBytesMax || max.length > textBytesMax;
    return isLong ? noStatistics : { ...noStatistics, minBytes: min, maxBytes: max };
  }
  if (typeof min === "bigint" || typeof max === "bigint") {
    const bytes = (value: unknown): Uint8Array =>
      new Uint8Array(BigInt64Array.of(BigInt.asIntN(64, value as bigint)).buffer);
    return { ...noStatistics, minBytes: bytes(min), maxBytes: bytes(max) };
  }
  if (!Number.isFinite(min) || !Number.isFinite(max)) return noStatistics;
  const [least, greatest] = [min as number, max as number];
  return {
    ...noStatistics,
    minBytes: numberBytes(spec, least === 0 && hasNan === false ? -0 : least),
    maxBytes: numberBytes(spec, greatest === 0 ? 0 : greatest),
  };
}

function bigintStatistics(values: BigInt64Array): PageStatistics {
  let min = values[0] as bigint;
  let max = min;
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const bytes = (value: bigint): Uint8Array => new Uint8Array(BigInt64Array.of(value).buffer);
  return { min, max, minBytes: bytes(min), maxBytes: bytes(max) };
}

function numberBytes(spec: ColumnSpec, value: number): Uint8Array {
  switch (spec.type) {
    case "boolean":
      return Uint8Array.of(value === 0 ? 0 : 1);
    case "int32":
      return new Uint8Array(Int32Array.of(value).buffer);
    case "float":
      return new Uint8Array(Float32Array.of(value).buffer);
    case "double":
      return new Uint8Array(Float64Array.of(value).buffer);
    default:
      return new Uint8Array(BigInt64Array.of(BigInt(value)).buffer);
  }
}

/** Statistics of texts and byte strings, by bytes. `encoded` has a length before each. */
export function textStatistics(encoded: Uint8Array): PageStatistics {
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  let min: Uint8Array | undefined;
  let max: Uint8Array | undefined;
  for (let at = 0; at < encoded.length; ) {
    const length = view.getUint32(at, true);
    if (length > textBytesMax) return noStatistics;
    const value = encoded.subarray(at + 4, at + 4 + length);
    if (min === undefined || compareBytes(value, min) < 0) min = value;
    if (max === undefined || compareBytes(value, max) > 0) max = value;
    at += 4 + length;
  }
  return { ...noStatistics, minBytes: min, maxBytes: max };
}
