/**
 * A column as loops read it: 64-bit integers as pairs of 32-bit words (low, then high), because
 * loops over BigInts allocate until they are compiled; every other fixed type as its own array.
 */

import type { TypeName } from "../../../language/core/index.ts";
import { type Column, emptyColumn } from "../batch.ts";

export type ViewArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Float32Array
  | Float64Array;

export interface ColumnView {
  readonly type: TypeName;
  /** Two words for each value of a 64-bit integer; the bytes of a text. */
  readonly data: ViewArray;
  /** Of a text; empty for fixed types. */
  readonly offsets: Int32Array;
  readonly validity: Uint8Array | undefined;
}

const noOffsets = new Int32Array(0);

export function viewOf(column: Column): ColumnView {
  const { type, validity } = column;
  if (column.kind === "text") {
    return { type, data: column.bytes, offsets: column.offsets, validity };
  }
  const { values } = column;
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
    return { type, data: words, offsets: noOffsets, validity };
  }
  return { type, data: values, offsets: noOffsets, validity };
}

/** The views of some columns of a batch; a number out of range is an empty column. */
export function viewsOf(columns: readonly Column[], indexes: readonly number[]): ColumnView[] {
  return indexes.map((index) => viewOf(columns[index] ?? emptyColumn("UINT8")));
}

export function is64Bit(type: TypeName): boolean {
  return type === "INT64" || type === "UINT64";
}

let identity = Int32Array.from({ length: 8_192 }, (_, row) => row);

/** The row numbers 0, 1, 2 and so on: what a loop over all rows of a batch uses as its rows. */
export function allRows(count: number): Int32Array {
  if (count > identity.length) {
    identity = Int32Array.from({ length: count * 2 }, (_, row) => row);
  }
  return identity.length === count ? identity : identity.subarray(0, count);
}
