/**
 * Rows in columns, in Arrow's layout: fixed-width values in a typed array, texts as offsets and
 * UTF-8 bytes, validity as a bitmap (bit `i & 7` of byte `i >> 3` is set where the value is not
 * NULL). BOOLEAN and CHAR have a byte for each value.
 *
 *   A batch is read-only for whoever receives it, and valid only until the call that hands it over
 *   returns: producers use their buffers again. Who keeps rows copies them.
 *   A value at a NULL is unspecified, but harmless to read.
 */
import type { FixedType, TypeName } from "../../language/core/index.ts";

/** The most rows of a batch. */
export const batchRowsMax = 8_192;

export type FixedArray =
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

export interface FixedColumn {
  readonly kind: "fixed";
  readonly type: FixedType;
  readonly values: FixedArray;
  /** `undefined`: no value is NULL. */
  readonly validity: Uint8Array | undefined;
}

export interface TextColumn {
  readonly kind: "text";
  readonly type: "VARSIZED";
  /** One more than there are rows: text `i` is `bytes[offsets[i] .. offsets[i + 1])`. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
  readonly validity: Uint8Array | undefined;
}

export type Column = FixedColumn | TextColumn;

export interface Batch {
  /** The rows in the columns, whether selected or not. */
  readonly rowCount: number;
  readonly columns: readonly Column[];
  /** The rows that count, ascending; `undefined`: all of them. */
  readonly selection: Int32Array | undefined;
}

/** How many rows count. */
export function selectedCount({ rowCount, selection }: Batch): number {
  return selection === undefined ? rowCount : selection.length;
}

export function isValid(validity: Uint8Array | undefined, row: number): boolean {
  return validity === undefined || (((validity[row >> 3] ?? 0) >> (row & 7)) & 1) === 1;
}

const arrays = {
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  FLOAT32: Float32Array,
  FLOAT64: Float64Array,
  BOOLEAN: Uint8Array,
  CHAR: Uint8Array,
} as const;

/** A zeroed array for `length` values of a type. */
export function createValues(type: FixedType, length: number): FixedArray {
  return new arrays[type](length);
}

/** The bytes that a validity bitmap of so many rows takes. */
export function validityBytes(rowCount: number): number {
  return (rowCount + 7) >> 3;
}

export function emptyColumn(type: TypeName): Column {
  return type === "VARSIZED"
    ? {
        kind: "text",
        type,
        offsets: new Int32Array(1),
        bytes: new Uint8Array(0),
        validity: undefined,
      }
    : { kind: "fixed", type, values: createValues(type, 0), validity: undefined };
}
