/**
 * The bytes of state sections: numbers and arrays one after the other, little-endian as typed
 * arrays are in memory. Every array is preceded by its length. What is read back is copied, so it
 * does not keep the section's bytes alive.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type DataType, DialectError } from "../../../language/core/index.ts";
import { createValues, validityBytes } from "../batch.ts";
import { allRows, viewOf } from "./column-view.ts";
import { RowStore } from "./row-store.ts";

type AnyArray = { readonly buffer: ArrayBufferLike; byteOffset: number; byteLength: number };

export class StateWriter {
  #bytes = new Uint8Array(1_024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  constructor(kind: string, version: number) {
    this.text(kind);
    this.number(version);
  }

  number(value: number): this {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  /** A time or an index of any size. */
  bigint(value: bigint): this {
    return this.text(value.toString());
  }

  text(value: string): this {
    return this.array(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  }

  array({ buffer, byteOffset, byteLength }: AnyArray): this {
    this.number(byteLength);
    this.#reserve(byteLength);
    this.#bytes.set(new Uint8Array(buffer, byteOffset, byteLength), this.#length);
    this.#length += byteLength;
    return this;
  }

  rows(store: RowStore): this {
    this.number(store.rowCount);
    for (const column of store.columns(0, store.rowCount)) {
      if (column.kind === "fixed") this.array(column.values);
      else {
        this.array(column.offsets);
        this.array(column.bytes.subarray(0, column.offsets[store.rowCount] as number));
      }
      const { validity } = column;
      this.array(validity?.subarray(0, validityBytes(store.rowCount)) ?? new Uint8Array(0));
    }
    return this;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#length + more, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

export class StateReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  /** Refuses bytes of another kind of state, or of another version of its format. */
  constructor(bytes: Uint8Array, kind: string, version: number) {
    // A Buffer's `slice` would not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const foundKind = this.text();
    const foundVersion = this.number();
    if (foundKind !== kind || foundVersion !== version) {
      throw new DialectError(
        2002,
        `the stored state is ${foundKind} in format ${foundVersion}, and this program reads ` +
          `${kind} in format ${version}`,
        { hint: "Restore it with the version of Capstan that wrote it, or start the query anew." },
      );
    }
  }

  number(): number {
    assert(this.#at + 8 <= this.#bytes.length, "a state section has all of its numbers");
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }

  bigint(): bigint {
    return BigInt(this.text());
  }

  text(): string {
    return String.fromCharCode(...this.array());
  }

  /** The bytes of an array, copied. */
  array(): Uint8Array<ArrayBuffer> {
    const length = this.number();
    assert(this.#at + length <= this.#bytes.length, "a state section has all of its bytes");
    const found = this.#bytes.slice(this.#at, this.#at + length);
    this.#at += length;
    return found;
  }

  int32(): Int32Array<ArrayBuffer> {
    return new Int32Array(this.array().buffer);
  }

  float64(): Float64Array<ArrayBuffer> {
    return new Float64Array(this.array().buffer);
  }

  rows(types: readonly DataType[]): RowStore {
    const count = this.number();
    const views = types.map(({ name }) => {
      if (name === "VARSIZED") {
        const offsets = this.int32();
        const bytes = this.array();
        return viewOf({ kind: "text", type: name, offsets, bytes, validity: this.#validity() });
      }
      const values = createValues(name, count);
      new Uint8Array(values.buffer).set(this.array());
      return viewOf({ kind: "fixed", type: name, values, validity: this.#validity() });
    });
    const store = new RowStore(types);
    store.append(views, allRows(count));
    return store;
  }

  #validity(): Uint8Array | undefined {
    const bits = this.array();
    return bits.length === 0 ? undefined : bits;
  }
}
