/**
 * The text of a query, with positions in UTF-8 bytes like in Prometheus, and errors with positions.
 */
import { PromqlError } from "../engine-types.ts";
import type { Position } from "../model.ts";

export const queryBytesMax: number = 1 << 20;

export class Source {
  readonly text: string;
  /** Byte offsets of the UTF-16 units and of the end. Undefined for ASCII, where both are equal. */
  readonly #byteOffsets: Uint32Array | undefined;

  constructor(text: string) {
    if (text.length > queryBytesMax) throw tooLong();
    this.text = text;
    this.#byteOffsets = isAscii(text) ? undefined : byteOffsets(text);
    if (this.byteAt(text.length) > queryBytesMax) throw tooLong();
  }

  byteAt(index: number): number {
    return this.#byteOffsets?.[index] ?? index;
  }

  /** The inverse of `byteAt`. */
  indexAt(byte: number): number {
    const offsets = this.#byteOffsets;
    if (offsets === undefined) return byte;
    let low = 0;
    let high = offsets.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((offsets[middle] as number) < byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  error(position: Position, message: string): PromqlError {
    const text = `${this.#lineAndColumn(position.start)}: parse error: ${message}`;
    return new PromqlError("parse", text, position);
  }

  /** The column counts bytes from 1. */
  #lineAndColumn(byte: number): string {
    if (this.text === "") return "unknown position";
    const index = this.indexAt(byte);
    let line = 1;
    let lineStart = 0;
    for (
      let at = this.text.indexOf("\n");
      at >= 0 && at < index;
      at = this.text.indexOf("\n", at + 1)
    ) {
      line += 1;
      lineStart = at + 1;
    }
    return `${line}:${byte - this.byteAt(lineStart) + 1}`;
  }
}

function tooLong(): PromqlError {
  return new PromqlError(
    "parse",
    `1:1: parse error: the query is longer than ${queryBytesMax} bytes`,
    {
      start: 0,
      end: 0,
    },
  );
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}

function byteOffsets(text: string): Uint32Array {
  const offsets = new Uint32Array(text.length + 1);
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    offsets[index] = bytes;
    const code = text.codePointAt(index) ?? 0;
    if (code > 0xffff) {
      // The second unit of a pair is never the start of a token.
      offsets[index + 1] = bytes + 4;
      bytes += 4;
      index += 1;
    } else {
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    }
  }
  offsets[text.length] = bytes;
  return offsets;
}
