/**
 * Times as pairs of doubles: time = high * 2^32 + low, with 0 <= low < 2^32. A difference of two
 * times is exact below 2^53 and has the right sign beyond it, so times of all of 64 bits compare
 * exactly without BigInts. A time that is NULL has NaN as its high part.
 */
import { isSigned } from "../../../language/core/index.ts";
import { isValid } from "../batch.ts";
import { type ColumnView, is64Bit } from "./column-view.ts";

const wordRange = 4_294_967_296;

/** Writes the time of `rows[i]` to `out[2 * i]` and `out[2 * i + 1]`. */
export function loadTimePairs(view: ColumnView, rows: Int32Array, out: Float64Array): void {
  const { data, validity } = view;
  const count = rows.length;
  if (is64Bit(view.type)) pairsOf(data as Int32Array, rows, out, isSigned(view.type));
  else {
    for (let i = 0; i < count; i += 1) {
      const value = data[rows[i] as number] as number;
      out[2 * i] = value < 0 ? -1 : 0;
      out[2 * i + 1] = value >>> 0;
    }
  }
  if (validity === undefined) return;
  for (let i = 0; i < count; i += 1) {
    if (!isValid(validity, rows[i] as number)) out[2 * i] = Number.NaN;
  }
}

function pairsOf(data: Int32Array, rows: Int32Array, out: Float64Array, signed: boolean): void {
  const count = rows.length;
  for (let i = 0; i < count; i += 1) {
    const row = (rows[i] as number) * 2;
    const high = data[row + 1] as number;
    out[2 * i] = signed ? high : high >>> 0;
    out[2 * i + 1] = (data[row] as number) >>> 0;
  }
}

/** A time of a watermark; beyond 64 bits, too. */
export interface TimePair {
  readonly high: number;
  readonly low: number;
}

export function toTimePair(time: bigint): TimePair {
  return { high: Number(time >> 32n), low: Number(time & 0xffff_ffffn) };
}

/** The first time less the second, in milliseconds. */
export function timeBetween(high: number, low: number, fromHigh: number, fromLow: number): number {
  return (high - fromHigh) * wordRange + (low - fromLow);
}
