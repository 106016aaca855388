/**
 * A column of byte strings as its page stores them, each after its length. Thousands of small
 * values are written and read without an object for each.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import { ByteSource } from "./byte-source.ts";
import { corrupt } from "./parquet-error.ts";

const lengthBytes = 4;
/** V8 keeps arrays up to this length in its heap; asking for the buffer of one moves it out. */
const shortLengthMax = 8;

/** Values to be written. It has room for exactly the number of values and bytes it was made for. */
export class PackedBytes {
  readonly #page: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  #length = 0;
  #at = 0;

  constructor(valueCount: number, byteCount: number) {
    this.#page = new Uint8Array(valueCount * lengthBytes + byteCount);
    this.#view = new DataView(this.#page.buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** The page, when all values are there. */
  get page(): Uint8Array {
    assert(this.#at === this.#page.length, "packed bytes are complete");
    return this.#page;
  }

  add(value: Uint8Array): void {
    this.#begin(value.length);
    this.#page.set(value, this.#at);
    this.#at += value.length;
  }

  /** Adds doubles in little-endian order. */
  addDoubles(values: Float64Array): void {
    if (values.length > shortLengthMax) {
      this.add(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
      return;
    }
    this.#begin(values.length * 8);
    for (let index = 0; index < values.length; index += 1, this.#at += 8) {
      this.#view.setFloat64(this.#at, values[index] as number, true);
    }
  }

  #begin(length: number): void {
    this.#view.setUint32(this.#at, length, true);
    this.#at += lengthBytes;
    this.#length += 1;
  }
}

/** Values that were read. They stay in the page. */
export class BytesColumn {
  readonly count: number;
  /** The page's memory; `view` has the same. */
  readonly page: Uint8Array;
  readonly view: DataView;
  /** The start of each value, and one more as if another length followed the last. */
  readonly #starts: Uint32Array;

  constructor(page: Uint8Array, count: number) {
    if (count > page.length / lengthBytes) {
      throw corrupt("a page has fewer values than it claims");
    }
    this.count = count;
    this.page = page;
    this.view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    this.#starts = new Uint32Array(count + 1);
    const source = new ByteSource(page);
    for (let index = 0; index < count; index += 1) {
      if (source.left < lengthBytes) throw corrupt("it ends in the middle of a length");
      const length = this.view.getUint32(source.position, true);
      source.position += lengthBytes;
      this.#starts[index] = source.position;
      source.skip(length);
    }
    if (source.left !== 0) throw corrupt("a page has more values than it claims");
    this.#starts[count] = source.position + lengthBytes;
  }

  /** Where the value begins in the page. */
  startOf(index: number): number {
    return this.#starts[index] as number;
  }

  lengthOf(index: number): number {
    return (this.#starts[index + 1] as number) - lengthBytes - (this.#starts[index] as number);
  }

  /** A view of the page's memory. */
  at(index: number): Uint8Array {
    const start = this.startOf(index);
    return this.page.subarray(start, start + this.lengthOf(index));
  }
}
