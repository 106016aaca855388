/** Reads bytes in order. A read beyond the end throws an error about a corrupt file. */
import { corrupt } from "./parquet-error.ts";

export class ByteSource {
  readonly bytes: Uint8Array;
  position = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.position;
  }

  byte(): number {
    const value = this.bytes[this.position];
    if (value === undefined) throw corrupt("it ends in the middle of something");
    this.position += 1;
    return value;
  }

  take(count: number): Uint8Array {
    const start = this.position;
    this.skip(count);
    return this.bytes.subarray(start, this.position);
  }

  skip(count: number): void {
    if (count > this.left) throw corrupt("something is longer than the rest of the file");
    this.position += count;
  }

  /** Unsigned LEB128 that fits a safe integer. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let index = 0; index < 10; index += 1) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      scale *= 0x80;
    }
    throw corrupt("a number is too large");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
