/** The values of numbers and quoted text. */
import { escapedByte, quoteText } from "../print/quote.ts";

/**
 * The value, or Prometheus's message. Integers may be octal (017) or hexadecimal, with underscores.
 */
export function readNumber(text: string): number | { readonly error: string } {
  const lower = text.toLowerCase();
  if (lower === "inf") return Number.POSITIVE_INFINITY;
  if (lower === "nan") return Number.NaN;
  const fault = (what: string): { error: string } => ({
    error: `error parsing number: strconv.ParseFloat: parsing ${quoteText(text)}: ${what}`,
  });
  // An underscore separates digits; the prefixes 0 and 0x count as a digit.
  if (/__|_$|^_|_\.|\._|_e|e_|e[+-]?_/.test(lower) && !/^0x_?[0-9a-f]+(_[0-9a-f]+)*$/.test(lower)) {
    return fault("invalid syntax");
  }
  const plain = lower.replaceAll("_", "");
  if (/^0[xX]/.test(plain))
    return /^0x[0-9a-f]+$/.test(plain) ? hexadecimal(plain, fault) : fault("invalid syntax");
  if (/^0[0-7]+$/.test(plain)) {
    const octal = BigInt(`0o${plain.slice(1)}`);
    return octal <= int64Max ? Number(octal) : Number(plain);
  }
  if (!/^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(plain)) return fault("invalid syntax");
  const value = Number(plain);
  return Number.isFinite(value) ? value : fault("value out of range");
}

const int64Max = (1n << 63n) - 1n;

/** Beyond 64 bits it would be a float, and a hexadecimal float needs an exponent. */
function hexadecimal(
  plain: string,
  fault: (what: string) => { error: string },
): number | { readonly error: string } {
  const value = BigInt(plain);
  return value <= int64Max ? Number(value) : fault("invalid syntax");
}

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 0x5c,
  "'": 0x27,
  '"': 0x22,
};

/**
 * The text between the quotes; the lexer has checked the escapes. `\x` and `\377` are bytes, so
 * several can form one character. A byte that forms none becomes a lone surrogate (`escapedByte`):
 * such text equals no text of a series, and is refused as a label name.
 */
export function unquote(quoted: string): string {
  const inner = quoted.slice(1, -1);
  if (quoted[0] === "`" || !inner.includes("\\")) return inner;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  const parts = /\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u(.{4})|U(.{8})|(.))|[^\\]+/gsu;
  for (const [whole, hex, octal, short, long, simple] of inner.matchAll(parts)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (simple !== undefined) bytes.push(simpleEscapes[simple] ?? 0);
    else {
      const code = short ?? long;
      const text = code === undefined ? whole : String.fromCodePoint(Number.parseInt(code, 16));
      for (const byte of encoder.encode(text)) bytes.push(byte);
    }
  }
  return decode(new Uint8Array(bytes));
}

function decode(bytes: Uint8Array): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
  const attempt = (part: Uint8Array): string | undefined => {
    try {
      return decoder.decode(part);
    } catch {
      return undefined;
    }
  };
  const whole = attempt(bytes);
  if (whole !== undefined) return whole;
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] as number;
    const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const character =
      at + length <= bytes.length ? attempt(bytes.subarray(at, at + length)) : undefined;
    text += character ?? escapedByte(byte);
    at += character === undefined ? 1 : length;
  }
  return text;
}
