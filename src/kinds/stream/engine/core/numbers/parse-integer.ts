/**
 * Integers from bytes: an optional sign, then decimal digits, or `0x` and hexadecimal ones. What
 * does not fit in the type is refused, not wrapped. No BigInt is made.
 */
import type { IntegerType } from "../../../language/core/index.ts";

const two32 = 4_294_967_296;

/** The magnitude of the integer read last. */
let magnitudeLow = 0;
let magnitudeHigh = 0;

/** Reads the digits `start .. end` of a magnitude below 2^64. */
function readMagnitude(bytes: Uint8Array, start: number, end: number): boolean {
  if (start >= end) return false;
  if (end - start > 2 && bytes[start] === 48 && ((bytes[start + 1] as number) | 32) === 120) {
    return readHexadecimal(bytes, start + 2, end);
  }
  let at = start;
  while (at < end - 1 && bytes[at] === 48) at += 1;
  if (end - at > 20) return false;
  let low = 0;
  let high = 0;
  while (at < end) {
    // Six digits at once: 2^32 times a million is still exact.
    const stop = Math.min(at + 6, end);
    let scale = 1;
    let group = 0;
    for (; at < stop; at += 1) {
      const digit = (bytes[at] as number) - 48;
      if (digit < 0 || digit > 9) return false;
      group = group * 10 + digit;
      scale *= 10;
    }
    const product = low * scale + group;
    const carry = Math.floor(product / two32);
    low = product - carry * two32;
    high = high * scale + carry;
    if (high >= two32) return false;
  }
  magnitudeLow = low;
  magnitudeHigh = high;
  return true;
}

function readHexadecimal(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end - 1 && bytes[at] === 48) at += 1;
  if (end - at > 16) return false;
  let low = 0;
  let high = 0;
  for (; at < end; at += 1) {
    const code = bytes[at] as number;
    const letter = (code | 32) - 87;
    const digit = code >= 48 && code <= 57 ? code - 48 : letter >= 10 && letter <= 15 ? letter : -1;
    if (digit < 0) return false;
    high = ((high << 4) | (low >>> 28)) >>> 0;
    low = ((low << 4) | digit) >>> 0;
  }
  magnitudeLow = low;
  magnitudeHigh = high;
  return true;
}

/** Writes the halves to `out[at]` (the low one) and `out[at + 1]`; false: it is no such integer. */
export function parseInteger64(
  bytes: Uint8Array,
  start: number,
  end: number,
  signed: boolean,
  out: Int32Array,
  at: number,
): boolean {
  const first = bytes[start];
  const negative = first === 45;
  if (negative && !signed) return false;
  if (!readMagnitude(bytes, negative || first === 43 ? start + 1 : start, end)) return false;
  if (signed && magnitudeHigh >= 0x80000000) {
    if (!negative || magnitudeHigh !== 0x80000000 || magnitudeLow !== 0) return false;
  }
  if (negative) {
    out[at] = -magnitudeLow;
    out[at + 1] = ~magnitudeHigh + (magnitudeLow === 0 ? 1 : 0);
  } else {
    out[at] = magnitudeLow;
    out[at + 1] = magnitudeHigh;
  }
  return true;
}

const ranges: Readonly<Record<IntegerType, readonly [least: number, most: number]>> = {
  INT8: [-128, 127],
  INT16: [-32_768, 32_767],
  INT32: [-2_147_483_648, 2_147_483_647],
  UINT8: [0, 255],
  UINT16: [0, 65_535],
  UINT32: [0, 4_294_967_295],
  INT64: [-Infinity, Infinity],
  UINT64: [0, Infinity],
};

/** An integer of at most 32 bits; NaN: it is none, or does not fit in the type. */
export function parseInteger32(
  bytes: Uint8Array,
  start: number,
  end: number,
  type: IntegerType,
): number {
  const first = bytes[start];
  const negative = first === 45;
  const [least, most] = ranges[type];
  if (negative && least === 0) return Number.NaN;
  if (!readMagnitude(bytes, negative || first === 43 ? start + 1 : start, end)) return Number.NaN;
  if (magnitudeHigh !== 0) return Number.NaN;
  const value = negative ? 0 - magnitudeLow : magnitudeLow;
  return value >= least && value <= most ? value : Number.NaN;
}
