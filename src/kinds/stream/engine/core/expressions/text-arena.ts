/**
 * Where functions put the texts they make. A text is three values everywhere in compiled code: the
 * array it lies in, its first byte and the byte behind its last. The arena is emptied for each row;
 * when it grows, texts made before stay where they were, in the old array.
 */
import { DialectError } from "../../../language/core/index.ts";

/** A column of texts holds at most this many bytes, since its offsets are 32 bits wide. */
const textBytesMax = 2 ** 31 - 1;

export class TextArena {
  bytes = new Uint8Array(1_024);
  /** The text made last. */
  start = 0;
  end = 0;

  /** Forgets all texts. */
  reset(): void {
    this.start = 0;
    this.end = 0;
  }

  /** Begins a text of at most `room` bytes; who writes it sets `end`. */
  begin(room: number): number {
    this.start = this.end;
    if (this.end + room > this.bytes.length) {
      // What lies before `end` stays in the old array for those who refer to it.
      this.bytes = new Uint8Array(grownLength(this.bytes.length, room));
      this.start = 0;
      this.end = 0;
    }
    return this.start;
  }

  /** Makes a text of the bytes `start .. end`. */
  put(bytes: Uint8Array, start: number, end: number): void {
    const at = this.begin(end - start);
    copyBytes(this.bytes, at, bytes, start, end);
    this.end = at + end - start;
  }
}

/** The next length of a buffer that has to hold `needed` bytes. */
export function grownLength(length: number, needed: number): number {
  if (needed > textBytesMax) {
    throw new DialectError(3003, `a batch would hold ${needed} bytes of text in one column`);
  }
  return Math.min(textBytesMax, Math.max(length * 2, needed, 1_024));
}

/** Copies the bytes `start .. end` to `at`. Short texts are faster without a call. */
export function copyBytes(
  to: Uint8Array,
  at: number,
  from: Uint8Array,
  start: number,
  end: number,
): void {
  if (end - start > 48) {
    to.set(from.subarray(start, end), at);
    return;
  }
  for (let i = start, o = at; i < end; i += 1, o += 1) to[o] = from[i] as number;
}
