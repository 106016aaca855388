/** JSON_EXTRACT: follows a path through the bytes of a JSON text without reading the rest. */
import { noJson, skipString, skipValue, unescapeString } from "../formats/json-scan.ts";
import { stepsOfPath } from "../formats/json-steps.ts";
import type { TextArena } from "./text-arena.ts";

/** Line feeds are blanks here: no byte ends the value. */
const noStop = -1;

export class JsonPath {
  /** Keys as bytes, and places in arrays. */
  readonly #steps: readonly (Uint8Array | number)[];
  #name = new Uint8Array(64);

  constructor(path: string) {
    const encoder = new TextEncoder();
    this.#steps = stepsOfPath(path).map((step) =>
      typeof step === "number" ? step : encoder.encode(step),
    );
  }

  /**
   * Puts what the path leads to into the arena: a string without quotes and escapes, everything
   * else as it is written. False: it leads nowhere or to null, or the text is no JSON.
   */
  extract(arena: TextArena, bytes: Uint8Array, start: number, end: number): boolean {
    let at = skipBlanks(bytes, start, end);
    for (const step of this.#steps) {
      at =
        typeof step === "number"
          ? this.#element(bytes, at, end, step)
          : this.#member(bytes, at, end, step);
      if (at === noJson) return false;
    }
    const behind = skipValue(bytes, at, end, noStop);
    if (behind === noJson || behind > end || bytes[at] === 110) return false;
    if (bytes[at] !== 34) {
      arena.put(bytes, at, behind);
      return true;
    }
    const place = arena.begin(behind - at);
    const length = unescapeString(bytes, at + 1, behind - 1, arena.bytes.subarray(place));
    if (length === noJson) return false;
    arena.end = place + length;
    return true;
  }

  /** Where the value of the key starts; of a key that comes twice the last one counts. */
  #member(bytes: Uint8Array, start: number, end: number, key: Uint8Array): number {
    if (bytes[start] !== 123) return noJson;
    let found = noJson;
    let at = skipBlanks(bytes, start + 1, end);
    while (at < end && bytes[at] === 34) {
      const behind = skipString(bytes, at, end);
      if (behind === noJson) return noJson;
      const matches = this.#matches(bytes, at + 1, behind - 1, key);
      at = skipBlanks(bytes, behind, end);
      if (bytes[at] !== 58) return noJson;
      at = skipBlanks(bytes, at + 1, end);
      if (matches) found = at;
      at = skipValue(bytes, at, end, noStop);
      if (at === noJson) return noJson;
      at = skipBlanks(bytes, at, end);
      if (bytes[at] !== 44) break;
      at = skipBlanks(bytes, at + 1, end);
    }
    return found;
  }

  #matches(bytes: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
    if (this.#name.length < end - start) this.#name = new Uint8Array((end - start) * 2);
    const length = unescapeString(bytes, start, end, this.#name);
    if (length !== key.length) return false;
    for (let i = 0; i < length; i += 1) if (this.#name[i] !== key[i]) return false;
    return true;
  }

  #element(bytes: Uint8Array, start: number, end: number, index: number): number {
    if (bytes[start] !== 91) return noJson;
    let at = skipBlanks(bytes, start + 1, end);
    for (let i = 0; at < end && bytes[at] !== 93; i += 1) {
      if (i === index) return at;
      at = skipValue(bytes, at, end, noStop);
      if (at === noJson) return noJson;
      at = skipBlanks(bytes, at, end);
      if (bytes[at] !== 44) return noJson;
      at = skipBlanks(bytes, at + 1, end);
    }
    return noJson;
  }
}

function skipBlanks(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const code = bytes[at];
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) break;
    at += 1;
  }
  return at;
}
