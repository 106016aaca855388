/**
 * Reads event times. Times within 2^53 are doubles, which is exact and fast; the others are read
 * one by one as BigInts.
 */

import { isSigned } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import { isValid } from "../batch.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { is64Bit } from "../tables/column-view.ts";

const wordRange = 4_294_967_296;
const highMax = 2_097_151;

/**
 * Writes the times of rows as doubles, NaN for NULL. Returns false when one of them does not fit:
 * then the times are read with `timeAt`.
 */
export function readTimes(view: ColumnView, rows: Int32Array, out: Float64Array): boolean {
  const { validity, type } = view;
  const fits = is64Bit(type)
    ? readPairs(view.data as Int32Array, rows, out, isSigned(type))
    : readNumbers(view.data, rows, out);
  if (validity === undefined) return fits;
  for (let i = 0; i < rows.length; i += 1) {
    if (!isValid(validity, rows[i] as number)) out[i] = Number.NaN;
  }
  return fits;
}

function readPairs(
  data: Int32Array,
  rows: Int32Array,
  out: Float64Array,
  signed: boolean,
): boolean {
  const count = rows.length;
  const highMin = signed ? -highMax - 1 : 0;
  let fits = true;
  for (let i = 0; i < count; i += 1) {
    const row = (rows[i] as number) * 2;
    const high = data[row + 1] as number;
    if (high > highMax || high < highMin) fits = false;
    out[i] = high * wordRange + ((data[row] as number) >>> 0);
  }
  return fits;
}

function readNumbers(data: ColumnView["data"], rows: Int32Array, out: Float64Array): boolean {
  for (let i = 0; i < rows.length; i += 1) out[i] = data[rows[i] as number] as number;
  return true;
}

/** The time of one row; `undefined` for NULL. */
export function timeAt(column: Column, row: number): bigint | undefined {
  if (column.kind === "text" || !isValid(column.validity, row)) return undefined;
  return BigInt(column.values[row] as number | bigint);
}
