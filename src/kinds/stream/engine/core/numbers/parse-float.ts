/**
 * Floats from bytes, exact to the last bit. Up to 15 digits and a power of ten up to 22 are exact
 * doubles, so one multiplication or division rounds correctly (Clinger); everything else goes
 * through JavaScript's own conversion, which is exact.
 *
 * Accepted: decimal with or without point and exponent, `0x` and hexadecimal digits, a sign, `nan`,
 * `inf` and `infinity` in any case. A number too great for the type is refused.
 */

const decimal = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const hexadecimal = /^[+-]?0[xX][0-9a-fA-F]+$/;
const named = /^([+-]?)(?:(nan)|inf|infinity)$/i;

/** 10^0 to 10^22, which are exact. */
export const powersOfTen: Float64Array = Float64Array.from({ length: 23 }, (_, i) =>
  Number(`1e${i}`),
);

/** `undefined`: it is no number, or too great for a double. */
export function parseFloat64(bytes: Uint8Array, start: number, end: number): number | undefined {
  let at = start;
  const negative = bytes[at] === 45;
  if (negative || bytes[at] === 43) at += 1;
  let mantissa = 0;
  let digits = 0;
  let point = -1;
  for (; at < end; at += 1) {
    const code = bytes[at] as number;
    if (code >= 48 && code <= 57) {
      mantissa = mantissa * 10 + (code - 48);
      digits += 1;
    } else if (code === 46 && point < 0) {
      point = at;
    } else {
      return parseSlowly(bytes, start, end);
    }
  }
  if (digits === 0 || digits > 15) return parseSlowly(bytes, start, end);
  const value = point < 0 ? mantissa : mantissa / (powersOfTen[end - point - 1] as number);
  return negative ? -value : value;
}

function parseSlowly(bytes: Uint8Array, start: number, end: number): number | undefined {
  if (end - start > 2_000) return undefined;
  let text = "";
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] as number);
  if (decimal.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  if (hexadecimal.test(text)) {
    const negative = text.startsWith("-");
    const value = Number(BigInt(text.replace(/^[+-]/, "")));
    if (!Number.isFinite(value)) return undefined;
    return negative ? -value : value;
  }
  const name = named.exec(text);
  if (name === null) return undefined;
  if (name[2] !== undefined) return Number.NaN;
  return name[1] === "-" ? -Infinity : Infinity;
}

/**
 * The float nearest to the text, rounded once. `undefined`: too great for a float, or no number.
 */
export function parseFloat32(bytes: Uint8Array, start: number, end: number): number | undefined {
  const value = parseFloat64(bytes, start, end);
  if (value === undefined) return undefined;
  const float = Math.fround(value);
  if (!Number.isFinite(float)) return Number.isFinite(value) ? undefined : float;
  if (float === value || Number.isNaN(float)) return float;
  return isTie(value, float) ? roundTie(bytes, start, end, value, float) : float;
}

/** Whether a double lies in the middle between two floats, one of which is `float`. */
function isTie(value: number, float: number): boolean {
  const other = value + (value - float);
  return Math.fround(other) === other;
}

/** The double was a tie, but the text may lie on one side of it. */
function roundTie(
  bytes: Uint8Array,
  start: number,
  end: number,
  value: number,
  float: number,
): number {
  let text = "";
  for (let at = start; at < end; at += 1) text += String.fromCharCode(bytes[at] as number);
  const side = compareDecimal(text, value);
  if (side === 0) return float;
  const other = Math.fround(value + (value - float));
  return side > 0 === other > float ? other : float;
}

/** Compares decimal text with a double, exactly: negative, zero or positive. */
function compareDecimal(text: string, value: number): number {
  const match = /^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$/.exec(text);
  if (match === null) return 0;
  const [, sign, whole = "", part = "", exponentText] = match;
  const exponent = Number(exponentText ?? 0) - part.length;
  let digits = BigInt(`${whole}${part}`);
  if (sign === "-") digits = -digits;
  // A double is a fraction with a power of two below it: 2^1074 makes every one whole.
  const shift = 1_074n;
  const scaled = exactInteger(value, shift);
  const left = exponent >= 0 ? (digits * 10n ** BigInt(exponent)) << shift : digits << shift;
  const right = exponent >= 0 ? scaled : scaled * 10n ** BigInt(-exponent);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The double times 2^shift, for a shift that makes it whole. */
function exactInteger(value: number, shift: bigint): bigint {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0] as bigint;
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = exponent === 0n ? fraction : fraction | (1n << 52n);
  const power = (exponent === 0n ? 1n : exponent) - 1_075n + shift;
  const magnitude = power >= 0n ? mantissa << power : mantissa >> -power;
  return bits >> 63n === 1n ? -magnitude : magnitude;
}
