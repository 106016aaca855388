/**
 * Records that are split across chunks. Whole records are parsed where they lie in the chunk; only
 * one that is cut at a chunk's end is copied, together with the rest of it from the next chunk.
 */
import { DialectError } from "../../../language/core/index.ts";
import { grownLength } from "../expressions/text-arena.ts";

/**
 * Parses the records in `start .. limit`, which ends with a tuple delimiter. Returns where the
 * first record starts that is not complete (a delimiter was part of a quoted field), else `limit`.
 * `base` is the offset of the array's first byte, counted from the first byte pushed. The bytes of
 * `limit .. known` are there too, and may decide what a quote before them means. With `final`
 * nothing follows.
 */
export type ParseRecords = (
  bytes: Uint8Array,
  start: number,
  limit: number,
  base: number,
  known: number,
  final: boolean,
) => number;

/** Chunks are parsed in pieces of about this size, which bounds the buffers for texts. */
const pieceBytes = 256 * 1_024;

/**
 * By so much the bytes that are carried may exceed the longest record before a record in them is
 * surely too long: a byte order mark before it, and two delimiters behind it.
 */
const carrySlackBytes = 3 + 2 * 64;

export class ChunkedRecords {
  readonly #parse: ParseRecords;
  readonly #delimiter: Uint8Array;
  readonly #recordBytesMax: number;
  #skipHeader: boolean;
  #carry = new Uint8Array(4_096);
  #carryLength = 0;
  /** Where the last delimiter among the bytes carried ends; 0 where there is none. */
  #carryLimit = 0;
  /** How many times the bytes carried turned out to be less than a record. */
  #attempts = 0;
  /** How many bytes were pushed before the chunk at hand. */
  #offset = 0;

  constructor(
    delimiter: Uint8Array,
    recordBytesMax: number,
    skipHeader: boolean,
    parse: ParseRecords,
  ) {
    this.#parse = parse;
    this.#delimiter = delimiter;
    this.#recordBytesMax = recordBytesMax;
    this.#skipHeader = skipHeader;
  }

  get pendingBytes(): number {
    return this.#carryLength;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (this.#carryLength > 0 && at < chunk.length) at = this.#continueCarry(chunk, at);
    at = this.#parsePieces(chunk, at);
    if (at < chunk.length) {
      this.#append(chunk, at, chunk.length);
      this.#carryLimit = this.#lastEnd(this.#carry, 0, this.#carryLength);
    }
    this.#offset += chunk.length;
    this.#checkLength(this.#carryLength);
  }

  /** What is left over is a record, too. */
  end(): void {
    if (this.#carryLength === 0) return;
    this.#append(this.#delimiter, 0, this.#delimiter.length);
    const limit = this.#carryLength;
    const base = this.#offset - limit + this.#delimiter.length;
    const start = this.#startOf(this.#carry, 0, base, limit);
    // Behind a byte order mark alone there is no record, not even an empty one.
    const isNothing = start > 0 && start >= limit - this.#delimiter.length;
    if (!isNothing) this.#parse(this.#carry, start, limit, base, limit, true);
    this.#carryLength = 0;
  }

  /** Completes the record that was cut; returns where the chunk goes on. */
  #continueCarry(chunk: Uint8Array, at: number): number {
    const before = this.#carryLength;
    const base = this.#offset + at - before;
    const found = chunk.indexOf(this.#delimiter.at(-1) as number, at);
    let stop = found < 0 ? chunk.length : found + 1;
    // A record with many delimiters in quotes is not parsed again for each of them.
    if (this.#attempts > 0) stop = Math.min(chunk.length, Math.max(stop, at + before));
    this.#append(chunk, at, stop);
    // Bytes that were searched before are not searched again: a record may be long.
    const from = Math.max(0, before - this.#delimiter.length + 1);
    const last = this.#lastEnd(this.#carry, from, this.#carryLength);
    if (last > from) this.#carryLimit = last;
    const limit = this.#carryLimit;
    if (limit === 0) {
      this.#checkLength(this.#carryLength);
      return stop;
    }
    const start = this.#startOf(this.#carry, 0, base, limit);
    const consumed =
      start >= limit
        ? limit
        : this.#parse(this.#carry, start, limit, base, this.#carryLength, false);
    if (consumed < before) {
      // Records that ended within what was carried are read; the last one is still not whole.
      if (consumed > 0) this.#carry.copyWithin(0, consumed, this.#carryLength);
      this.#carryLength -= consumed;
      this.#carryLimit -= consumed;
      this.#attempts = consumed === 0 ? this.#attempts + 1 : 1;
      this.#checkLength(this.#carryLength);
      return stop;
    }
    this.#attempts = 0;
    this.#carryLength = 0;
    this.#carryLimit = 0;
    return at + consumed - before;
  }

  #parsePieces(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length) {
      let limit = this.#lastEnd(chunk, at, Math.min(chunk.length, at + pieceBytes));
      if (limit === at) limit = this.#nextEnd(chunk, at + pieceBytes - this.#delimiter.length);
      if (limit <= at) return at;
      const start = this.#startOf(chunk, at, this.#offset, limit);
      const parse = (to: number): number =>
        this.#parse(chunk, start, to, this.#offset, chunk.length, false);
      const next = start >= limit ? limit : parse(limit);
      // One record may be longer than the piece: with the next delimiters it may be whole.
      const wider = next === at ? parse(this.#lastEnd(chunk, at, chunk.length)) : next;
      if (wider === at) return at;
      at = wider;
    }
    return at;
  }

  /** Leaves out a byte order mark and the line of names at the very beginning. */
  #startOf(bytes: Uint8Array, at: number, base: number, limit: number): number {
    if (base + at !== 0) return at;
    let start = at;
    if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3;
    if (this.#skipHeader) {
      this.#skipHeader = false;
      const end = this.#nextEnd(bytes, start);
      if (end - start > this.#recordBytesMax) failLength(this.#recordBytesMax, 0);
      start = end;
    }
    return Math.min(start, limit);
  }

  /** Where the last delimiter in `from .. to` ends, or `from`. */
  #lastEnd(bytes: Uint8Array, from: number, to: number): number {
    const last = this.#delimiter.length - 1;
    // A search backwards would go on below `from`.
    const part = bytes.subarray(from, to);
    let at = part.length;
    while (at > 0) {
      at = part.lastIndexOf(this.#delimiter[last] as number, at - 1);
      if (at < last) return from;
      if (this.#matches(part, at - last)) return from + at + 1;
    }
    return from;
  }

  /** Where the first delimiter at or after `from` ends, or -1. */
  #nextEnd(bytes: Uint8Array, from: number): number {
    let at = Math.max(0, from) - 1;
    for (;;) {
      at = bytes.indexOf(this.#delimiter[0] as number, at + 1);
      if (at < 0) return -1;
      if (this.#matches(bytes, at)) return at + this.#delimiter.length;
    }
  }

  #matches(bytes: Uint8Array, at: number): boolean {
    for (let i = 0; i < this.#delimiter.length; i += 1) {
      if (bytes[at + i] !== this.#delimiter[i]) return false;
    }
    return true;
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    const needed = this.#carryLength + end - start;
    if (needed > this.#carry.length) {
      const grown = new Uint8Array(grownLength(this.#carry.length, needed));
      grown.set(this.#carry.subarray(0, this.#carryLength));
      this.#carry = grown;
    }
    this.#carry.set(bytes.subarray(start, end), this.#carryLength);
    this.#carryLength = needed;
  }

  /** Parsers measure whole records; this bounds what is kept of one that does not end. */
  #checkLength(length: number): void {
    if (length > this.#recordBytesMax + carrySlackBytes) {
      failLength(this.#recordBytesMax, this.#offset);
    }
  }
}

/** No policy lets a query go on behind such a record: where it ends is not known. */
export function failLength(recordBytesMax: number, offset: number): never {
  throw new DialectError(
    4000,
    `a record near byte ${offset} is longer than ${recordBytesMax} bytes`,
    { hint: "Check TUPLE_DELIMITER and quotes, or raise RECORD_BYTES_MAX." },
  );
}
