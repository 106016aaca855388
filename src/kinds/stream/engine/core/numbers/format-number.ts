/** Numbers as text, written into bytes. Each returns the place behind what it wrote. */

/** The most bytes that a number takes; a float with its point fixed has up to 309 digits before. */
export const numberBytesMax = 340;

const two32 = 4_294_967_296;

/** Two digits for each number below 100. */
const pairs = Uint8Array.from(
  { length: 200 },
  (_, i) => 48 + (i & 1 ? (i >> 1) % 10 : Math.floor((i >> 1) / 10)),
);

/** A whole number from 0 to 2^32 - 1. */
export function writeUnsigned32(out: Uint8Array, at: number, value: number): number {
  if (value < 10) {
    out[at] = 48 + value;
    return at + 1;
  }
  let length = 2;
  if (value >= 100) {
    length = 3;
    for (let limit = 1_000; value >= limit; limit *= 10) length += 1;
  }
  return writePadded(out, at, value, length);
}

/** Exactly `length` digits, with zeros before. */
export function writePadded(out: Uint8Array, at: number, value: number, length: number): number {
  let rest = value;
  let place = at + length;
  while (place - at >= 2) {
    const quotient = Math.floor(rest / 100);
    const pair = (rest - quotient * 100) * 2;
    place -= 2;
    out[place + 1] = pairs[pair + 1] as number;
    out[place] = pairs[pair] as number;
    rest = quotient;
  }
  if (place > at) out[at] = 48 + rest;
  return at + length;
}

export function writeSigned32(out: Uint8Array, at: number, value: number): number {
  if (value >= 0) return writeUnsigned32(out, at, value);
  out[at] = 45;
  return writeUnsigned32(out, at + 1, -value);
}

/** The unsigned halves of an integer of 64 bits. */
export function writeUnsigned64(out: Uint8Array, at: number, high: number, low: number): number {
  if (high === 0) return writeUnsigned32(out, at, low);
  if (high < 0x200000) return writeSafe(out, at, high * two32 + low);
  return writeAscii(out, at, String((BigInt(high) << 32n) | BigInt(low)));
}

/** `high` is signed, `low` is not. */
export function writeSigned64(out: Uint8Array, at: number, high: number, low: number): number {
  if (high >= 0) return writeUnsigned64(out, at, high, low);
  out[at] = 45;
  const negatedLow = low === 0 ? 0 : two32 - low;
  const negatedHigh = (~high + (low === 0 ? 1 : 0)) >>> 0;
  return writeUnsigned64(out, at + 1, negatedHigh, negatedLow);
}

/** A whole number from 0 to 2^53. */
function writeSafe(out: Uint8Array, at: number, value: number): number {
  if (value < 1_000_000_000) return writeUnsigned32(out, at, value);
  const upper = Math.floor(value / 1_000_000_000);
  const next = writeSafe(out, at, upper);
  return writePadded(out, next, value - upper * 1_000_000_000, 9);
}

/** Like C's `%.6f`, with zeros at the end left out but for one decimal. */
export function writeFixed(out: Uint8Array, at: number, value: number): number {
  if (!Number.isFinite(value)) return writeNotFinite(out, at, value);
  let place = at;
  if (value < 0 || Object.is(value, -0)) {
    out[place] = 45;
    place += 1;
  }
  const magnitude = Math.abs(value);
  const scaled = magnitude * 1_000_000;
  const floor = Math.floor(scaled);
  const fraction = scaled - floor;
  // The product is off by less than 2^-11 below 2^42, so only near a tie can it mislead.
  if (scaled < 4e12 && (fraction < 0.499 || fraction > 0.501)) {
    return writeMillionths(out, place, fraction > 0.5 ? floor + 1 : floor);
  }
  return writeExactly(out, place, magnitude);
}

function writeMillionths(out: Uint8Array, at: number, millionths: number): number {
  const whole = Math.floor(millionths / 1_000_000);
  let rest = millionths - whole * 1_000_000;
  let place = writeSafe(out, at, whole);
  out[place] = 46;
  place += 1;
  let length = 6;
  while (length > 1 && rest % 10 === 0) {
    rest /= 10;
    length -= 1;
  }
  return writePadded(out, place, rest, length);
}

/** By exact arithmetic; ties go to the even digit. */
function writeExactly(out: Uint8Array, at: number, magnitude: number): number {
  const bits = new BigUint64Array(Float64Array.of(magnitude).buffer)[0] as bigint;
  const exponent = Number(bits >> 52n) - 1_075;
  const mantissa = (bits & 0xfffffffffffffn) | (1n << 52n);
  let millionths: bigint;
  if (exponent >= 0) {
    millionths = (mantissa << BigInt(exponent)) * 1_000_000n;
  } else {
    const shift = BigInt(-exponent);
    const product = mantissa * 1_000_000n;
    millionths = product >> shift;
    const rest = product - (millionths << shift);
    const half = 1n << (shift - 1n);
    if (rest > half || (rest === half && (millionths & 1n) === 1n)) millionths += 1n;
  }
  const digits = String(millionths).padStart(7, "0");
  const part = digits.slice(-6).replace(/0{1,5}$/, "");
  return writeAscii(out, at, `${digits.slice(0, -6)}.${part}`);
}

/** The shortest text that reads back as the same double; a whole number keeps one decimal. */
export function writeShortest(out: Uint8Array, at: number, value: number): number {
  if (!Number.isFinite(value)) return writeNotFinite(out, at, value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15 && !Object.is(value, -0)) {
    let place = at;
    if (value < 0) {
      out[place] = 45;
      place += 1;
    }
    place = writeSafe(out, place, Math.abs(value));
    out[place] = 46;
    out[place + 1] = 48;
    return place + 2;
  }
  const magnitude = Math.abs(value);
  const millionths = Math.round(magnitude * 1_000_000);
  // Decimals of up to 15 digits are different doubles: one that reads back is the shortest.
  if (millionths < 1e15 && millionths > 0 && millionths / 1_000_000 === magnitude) {
    return writeMillionths(out, writeSign(out, at, value), millionths);
  }
  return writeAscii(out, at, shortest(String(value), value));
}

function writeSign(out: Uint8Array, at: number, value: number): number {
  if (value >= 0) return at;
  out[at] = 45;
  return at + 1;
}

/** The same for a float. */
export function writeShortest32(out: Uint8Array, at: number, value: number): number {
  if (!Number.isFinite(value) || value === 0) return writeShortest(out, at, value);
  const magnitude = Math.abs(value);
  const millionths = Math.round(magnitude * 1_000_000);
  // The same for decimals of up to six digits and floats.
  if (millionths < 1e6 && millionths > 0 && Math.fround(millionths / 1_000_000) === magnitude) {
    return writeMillionths(out, writeSign(out, at, value), millionths);
  }
  for (let precision = 6; precision <= 9; precision += 1) {
    const candidate = Number(value.toPrecision(precision));
    if (Math.fround(candidate) === value) return writeShortest(out, at, candidate);
  }
  return writeShortest(out, at, value);
}

function shortest(text: string, value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function writeNotFinite(out: Uint8Array, at: number, value: number): number {
  if (Number.isNaN(value)) return writeAscii(out, at, "nan");
  return writeAscii(out, at, value < 0 ? "-inf" : "inf");
}

export function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i += 1) out[at + i] = text.charCodeAt(i);
  return at + text.length;
}
