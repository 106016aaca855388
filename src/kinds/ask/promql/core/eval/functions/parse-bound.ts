/** Parses a bucket's bound, as in the label `le`. */

const decimal = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const infinite = /^([+-]?)inf(?:inity)?$/i;
const hexadecimal = /^([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([+-]?[0-9]+)$/i;

/** Parses a float64 like Go; undefined when the text is not a number or is out of range. */
export function parseBound(text: string): number | undefined {
  if (decimal.test(text)) return finite(Number(text));
  const infinity = infinite.exec(text);
  if (infinity !== null) {
    return infinity[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (text.toLowerCase() === "nan") return Number.NaN;
  return parseHexadecimal(text);
}

function parseHexadecimal(text: string): number | undefined {
  const match = hexadecimal.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = ""] = match;
  // Longer hexadecimal bounds are refused; nobody writes them.
  if (whole + fraction === "" || whole.length + fraction.length > 13) return undefined;
  const digits = Number.parseInt(whole + fraction, 16);
  const value = digits * 2 ** (Number(exponent) - 4 * fraction.length);
  return finite(sign === "-" ? -value : value);
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
