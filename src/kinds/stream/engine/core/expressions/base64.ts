/** Base64 (RFC 4648, with padding) on bytes. */
import { DialectError } from "../../../language/core/index.ts";
import type { TextArena } from "./text-arena.ts";

const alphabet = new TextEncoder().encode(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
);
const padding = 61;
const meanings = new Int8Array(256).fill(-1);
alphabet.forEach((code, meaning) => {
  meanings[code] = meaning;
});

export function toBase64(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  let place = arena.begin(Math.ceil((end - start) / 3) * 4);
  const out = arena.bytes;
  for (let at = start; at < end; at += 3) {
    const left = end - at;
    const b = left > 1 ? (bytes[at + 1] as number) : 0;
    const c = left > 2 ? (bytes[at + 2] as number) : 0;
    const word = ((bytes[at] as number) << 16) | (b << 8) | c;
    out[place] = alphabet[word >> 18] as number;
    out[place + 1] = alphabet[(word >> 12) & 63] as number;
    out[place + 2] = left > 1 ? (alphabet[(word >> 6) & 63] as number) : padding;
    out[place + 3] = left > 2 ? (alphabet[word & 63] as number) : padding;
    place += 4;
  }
  arena.end = place;
}

/** Padding may be missing. What is no Base64 is error 4003. */
export function fromBase64(arena: TextArena, bytes: Uint8Array, start: number, end: number): void {
  let last = end;
  while (last > start && end - last < 2 && bytes[last - 1] === padding) last -= 1;
  let place = arena.begin(Math.ceil((last - start) / 4) * 3);
  let word = 0;
  let bits = 0;
  for (let at = start; at < last; at += 1) {
    const meaning = meanings[bytes[at] as number] as number;
    if (meaning < 0) failBase64(bytes, start, end);
    word = ((word << 6) | meaning) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      arena.bytes[place] = (word >> bits) & 255;
      place += 1;
    }
  }
  if ((last - start) % 4 === 1) failBase64(bytes, start, end);
  arena.end = place;
}

function failBase64(bytes: Uint8Array, start: number, end: number): never {
  const shown = new TextDecoder().decode(bytes.subarray(start, Math.min(end, start + 60)));
  throw new DialectError(4003, `'${shown}' is no Base64`);
}
