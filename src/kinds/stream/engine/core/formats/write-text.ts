/** Texts in CSV and JSON, written into bytes. Each returns the place behind what it wrote. */
import { copyBytes } from "../expressions/text-arena.ts";
import { equalTexts } from "../expressions/text-compare.ts";
import { isUtf8 } from "./utf8.ts";

const quote = 34;
const hexadecimal = new TextEncoder().encode("0123456789abcdef");

/** In quotes, those inside doubled. It takes at most twice its bytes and two. */
export function writeQuoted(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let place = at;
  out[place++] = quote;
  for (let i = start; i < end; i += 1) {
    const code = bytes[i] as number;
    if (code === quote) out[place++] = quote;
    out[place++] = code;
  }
  out[place++] = quote;
  return place;
}

/** As it is. */
export function writePlain(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  copyBytes(out, at, bytes, start, end);
  return at + end - start;
}

/** In quotes only where it would not read back as itself; `special` has a 1 for each such byte. */
export function writeAsNeeded(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  special: Uint8Array,
  nullWord: Uint8Array,
): number {
  let found = start === end ? 1 : 0;
  for (let i = start; i < end; i += 1) found |= special[bytes[i] as number] as number;
  if (found === 0 && !equalTexts(bytes, start, end, nullWord, 0, nullWord.length)) {
    return writePlain(out, at, bytes, start, end);
  }
  return writeQuoted(out, at, bytes, start, end);
}

/** A JSON string. It takes at most six times its bytes and two. Invalid UTF-8 becomes U+FFFD. */
export function writeJsonString(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  let place = at;
  let high = 0;
  out[place++] = quote;
  for (let i = start; i < end; i += 1) {
    const code = bytes[i] as number;
    high |= code;
    if (code >= 32 && code !== quote && code !== 92) out[place++] = code;
    else place = writeEscaped(out, place, code);
  }
  if (high > 127 && !isUtf8(bytes, start, end)) {
    const repaired = new TextEncoder().encode(new TextDecoder().decode(bytes.subarray(start, end)));
    return writeJsonString(out, at, repaired, 0, repaired.length);
  }
  out[place++] = quote;
  return place;
}

const shortEscapes: Readonly<Record<number, number>> = {
  8: 98,
  9: 116,
  10: 110,
  12: 102,
  13: 114,
  34: 34,
  92: 92,
};

function writeEscaped(out: Uint8Array, at: number, code: number): number {
  out[at] = 92;
  const short = shortEscapes[code];
  if (short !== undefined) {
    out[at + 1] = short;
    return at + 2;
  }
  out[at + 1] = 117;
  out[at + 2] = 48;
  out[at + 3] = 48;
  out[at + 4] = hexadecimal[code >> 4] as number;
  out[at + 5] = hexadecimal[code & 15] as number;
  return at + 6;
}
