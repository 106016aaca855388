/** Finds the ends of JSON values, and takes the escapes out of strings. */

/** What stands at a place is no JSON. */
export const noJson = -1;

/** Objects and arrays inside of each other, at most. */
const depthMax = 512;

/**
 * The place behind the value that starts at `start`, or `noJson`. No value holds the byte `stop`,
 * which begins the delimiter of records.
 */
export function skipValue(bytes: Uint8Array, start: number, limit: number, stop: number): number {
  const code = bytes[start];
  if (code === 34) return skipString(bytes, start, limit);
  if (code === 123 || code === 91) return skipNested(bytes, start, limit, stop);
  if (code === 116) return skipWord(bytes, start, "true");
  if (code === 102) return skipWord(bytes, start, "false");
  if (code === 110) return skipWord(bytes, start, "null");
  return skipNumber(bytes, start, limit);
}

/** The place behind the closing quote of the string whose opening quote is at `start`. */
export function skipString(bytes: Uint8Array, start: number, limit: number): number {
  for (let at = start + 1; at < limit; at += 1) {
    const code = bytes[at] as number;
    if (code === 34) return at + 1;
    if (code === 92) at += 1;
    // The delimiter of records is such a byte, and it ends a record behind a backslash, too.
    if ((bytes[at] as number) < 32) return noJson;
  }
  return noJson;
}

function skipWord(bytes: Uint8Array, start: number, word: string): number {
  for (let i = 0; i < word.length; i += 1) {
    if (bytes[start + i] !== word.charCodeAt(i)) return noJson;
  }
  return start + word.length;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 48 && code <= 57;
}

function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at += 1;
  return at;
}

function skipNumber(bytes: Uint8Array, start: number, limit: number): number {
  const whole = bytes[start] === 45 ? start + 1 : start;
  let at = skipDigits(bytes, whole);
  if (at === whole) return noJson;
  if (bytes[at] === 46) {
    const part = at + 1;
    at = skipDigits(bytes, part);
    if (at === part) return noJson;
  }
  if (((bytes[at] ?? 0) | 32) === 101) {
    const exponent = bytes[at + 1] === 43 || bytes[at + 1] === 45 ? at + 2 : at + 1;
    at = skipDigits(bytes, exponent);
    if (at === exponent) return noJson;
  }
  return at > limit ? noJson : at;
}

/** Brackets are counted, and what is between them is not looked at but for strings. */
function skipNested(bytes: Uint8Array, start: number, limit: number, stop: number): number {
  let depth = 0;
  for (let at = start; at < limit; ) {
    const code = bytes[at] as number;
    if (code === 34) {
      at = skipString(bytes, at, limit);
      if (at === noJson) return noJson;
      continue;
    }
    if (code === 123 || code === 91) {
      depth += 1;
      if (depth > depthMax) return noJson;
    } else if (code === 125 || code === 93) {
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (code === stop) {
      return noJson;
    }
    at += 1;
  }
  return noJson;
}

const shortEscapes: Readonly<Record<number, number>> = {
  34: 34,
  47: 47,
  92: 92,
  98: 8,
  102: 12,
  110: 10,
  114: 13,
  116: 9,
};

/**
 * Writes the content `start .. end` of a string to `out` without escapes; it is never longer than
 * it was. Returns its length, or `noJson`. A surrogate that stands alone becomes U+FFFD.
 */
export function unescapeString(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
): number {
  let length = 0;
  for (let at = start; at < end; at += 1) {
    const code = bytes[at] as number;
    if (code !== 92) {
      out[length++] = code;
      continue;
    }
    at += 1;
    const letter = bytes[at] as number;
    const short = shortEscapes[letter];
    if (short !== undefined) {
      out[length++] = short;
      continue;
    }
    let unit = letter === 117 ? hexadecimal(bytes, at + 1, end) : -1;
    if (unit < 0) return noJson;
    at += 4;
    if (unit >= 0xd800 && unit < 0xdc00 && bytes[at + 1] === 92 && bytes[at + 2] === 117) {
      const low = hexadecimal(bytes, at + 3, end);
      if (low >= 0xdc00 && low < 0xe000) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
    }
    length = writeCharacter(out, length, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
  }
  return length;
}

/** Four hexadecimal digits, or -1. */
function hexadecimal(bytes: Uint8Array, start: number, end: number): number {
  if (start + 4 > end) return -1;
  let value = 0;
  for (let at = start; at < start + 4; at += 1) {
    const code = bytes[at] as number;
    const letter = (code | 32) - 87;
    const digit = isDigit(code) ? code - 48 : letter >= 10 && letter <= 15 ? letter : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function writeCharacter(out: Uint8Array, at: number, point: number): number {
  if (point < 0x80) {
    out[at] = point;
    return at + 1;
  }
  if (point < 0x800) {
    out[at] = 0xc0 | (point >> 6);
    out[at + 1] = 0x80 | (point & 63);
    return at + 2;
  }
  if (point < 0x10000) {
    out[at] = 0xe0 | (point >> 12);
    out[at + 1] = 0x80 | ((point >> 6) & 63);
    out[at + 2] = 0x80 | (point & 63);
    return at + 3;
  }
  out[at] = 0xf0 | (point >> 18);
  out[at + 1] = 0x80 | ((point >> 12) & 63);
  out[at + 2] = 0x80 | ((point >> 6) & 63);
  out[at + 3] = 0x80 | (point & 63);
  return at + 4;
}
