/** REGEXP_MATCHES, REGEXP_EXTRACT and REGEXP_REPLACE: a constant pattern over bytes. */
import {
  type ByteSearcher,
  compileSearch,
  RegexError,
} from "../../../../../data/regex/core/index.ts";
import { DialectError } from "../../../language/core/index.ts";
import { copyBytes, type TextArena } from "./text-arena.ts";

const backslash = 92;

export class TextPattern {
  readonly #searcher: ByteSearcher;
  readonly #bounds: Int32Array;
  readonly #pattern: string;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#searcher = compileSearch(pattern);
    this.#bounds = new Int32Array(2 * this.#searcher.groupCount);
  }

  test(bytes: Uint8Array, start: number, end: number): boolean {
    return this.#guarded(() => this.#searcher.test(bytes, start, end));
  }

  /** Puts a group of the first match into the arena. False: no match, or none of this group. */
  extract(arena: TextArena, bytes: Uint8Array, start: number, end: number, group: number): boolean {
    if (!(group >= 0 && group < this.#searcher.groupCount)) return false;
    if (!this.#find(bytes, start, end, start)) return false;
    const first = this.#bounds[2 * group] as number;
    if (first < 0) return false;
    arena.put(bytes, first, this.#bounds[2 * group + 1] as number);
    return true;
  }

  /**
   * Puts the text with all matches replaced into the arena. In the replacement `\\0` to `\\9` stand
   * for groups, and `\\\\` for a backslash. A match of nothing right behind another one is none.
   */
  replace(
    arena: TextArena,
    bytes: Uint8Array,
    start: number,
    end: number,
    by: Uint8Array,
    byStart: number,
    byEnd: number,
  ): void {
    const out = new Output(end - start + byEnd - byStart);
    let copied = start;
    let from = start;
    let isBehindMatch = false;
    while (from <= end && this.#find(bytes, start, end, from)) {
      const [first, last] = [this.#bounds[0] as number, this.#bounds[1] as number];
      if (!(isBehindMatch && first === last && first === copied)) {
        out.add(bytes, copied, first);
        this.#expand(out, bytes, by, byStart, byEnd);
        copied = last;
      }
      isBehindMatch = true;
      from = last > first ? last : nextCharacter(bytes, last, end);
    }
    out.add(bytes, copied, end);
    arena.put(out.bytes, 0, out.length);
  }

  #expand(out: Output, bytes: Uint8Array, by: Uint8Array, byStart: number, byEnd: number): void {
    let plain = byStart;
    for (let at = byStart; at + 1 < byEnd; at += 1) {
      if (by[at] !== backslash) continue;
      const next = by[at + 1] as number;
      const group = next - 48;
      if (next !== backslash && !(group >= 0 && group <= 9)) continue;
      out.add(by, plain, at);
      plain = at + 2;
      at += 1;
      if (next === backslash) plain -= 1;
      else if (group < this.#searcher.groupCount && (this.#bounds[2 * group] as number) >= 0) {
        out.add(bytes, this.#bounds[2 * group] as number, this.#bounds[2 * group + 1] as number);
      }
    }
    out.add(by, plain, byEnd);
  }

  #find(bytes: Uint8Array, start: number, end: number, from: number): boolean {
    return this.#guarded(() => this.#searcher.find(bytes, start, end, from, this.#bounds));
  }

  #guarded<T>(search: () => T): T {
    try {
      return search();
    } catch (error) {
      if (!(error instanceof RegexError)) throw error;
      throw new DialectError(2010, `the pattern '${this.#pattern}': ${error.message}`);
    }
  }
}

function nextCharacter(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && ((bytes[at] as number) & 0xc0) === 0x80) at += 1;
  return at;
}

/** Bytes that grow. */
class Output {
  bytes: Uint8Array;
  length = 0;

  constructor(room: number) {
    this.bytes = new Uint8Array(room);
  }

  add(from: Uint8Array, start: number, end: number): void {
    const needed = this.length + end - start;
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    copyBytes(this.bytes, this.length, from, start, end);
    this.length = needed;
  }
}
