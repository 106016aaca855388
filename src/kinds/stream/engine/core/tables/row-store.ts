/**
 * Rows that an operator keeps: columns in the layout of a batch that grow as rows are appended.
 * Rows are copied in from batches and are never changed, so a range of them can be handed out as
 * a batch without a copy. A validity bitmap exists only once a NULL was appended.
 */
import type { DataType, FixedType } from "../../../language/core/index.ts";
import { widthOf } from "../../../language/core/index.ts";
import { type Column, createValues, type FixedArray, validityBytes } from "../batch.ts";
import { copyBytes } from "../expressions/text-arena.ts";
import { type ColumnView, is64Bit, viewOf } from "./column-view.ts";
import { appendValidity, gatherFixed } from "./copy-rows.ts";

const rowsMin = 16;

class FixedStore {
  readonly kind = "fixed";
  readonly type: FixedType;
  values: FixedArray;
  validity: Uint8Array | undefined = undefined;
  view: ColumnView;

  constructor(type: FixedType) {
    this.type = type;
    this.values = createValues(type, 0);
    this.view = viewOf(this);
  }

  append(source: ColumnView, rows: Int32Array, base: number): void {
    const count = rows.length;
    this.reserve(base, base + count);
    gatherFixed(this.view.data, base, source.data, rows, is64Bit(this.type));
    const validity = appendValidity(this.validity, base, this.values.length, source.validity, rows);
    if (validity !== this.validity) {
      this.validity = validity;
      this.view = viewOf(this);
    }
  }

  reserve(rowCount: number, needed: number): void {
    if (needed <= this.values.length) return;
    const grown = createValues(this.type, Math.max(rowsMin, needed, rowCount + (rowCount >> 1)));
    (grown as Float64Array).set(this.values.subarray(0, rowCount) as Float64Array);
    this.values = grown;
    if (this.validity !== undefined) this.validity = grownBits(this.validity, grown.length);
    this.view = viewOf(this);
  }

  clear(): void {
    this.validity = undefined;
    this.view = viewOf(this);
  }

  slice(from: number, to: number): Column {
    const values = this.values.subarray(from, to);
    return { kind: "fixed", type: this.type, values, validity: this.validity?.subarray(from >> 3) };
  }

  get bytes(): number {
    return this.values.byteLength + (this.validity?.byteLength ?? 0);
  }
}

class TextStore {
  readonly kind = "text";
  readonly type = "VARSIZED";
  offsets = new Int32Array(rowsMin + 1);
  bytes = new Uint8Array(0);
  validity: Uint8Array | undefined = undefined;
  view: ColumnView;

  constructor() {
    this.view = viewOf(this);
  }

  append(source: ColumnView, rows: Int32Array, base: number): void {
    const count = rows.length;
    const { offsets: from, validity } = source;
    const bytes = source.data as Uint8Array;
    let total = this.offsets[base] as number;
    for (let i = 0; i < count; i += 1) {
      const row = rows[i] as number;
      total += (from[row + 1] as number) - (from[row] as number);
    }
    this.reserve(base, base + count, total);
    const { offsets, bytes: to } = this;
    let at = offsets[base] as number;
    for (let i = 0; i < count; i += 1) {
      const row = rows[i] as number;
      const start = from[row] as number;
      const end = from[row + 1] as number;
      copyBytes(to, at, bytes, start, end);
      at += end - start;
      offsets[base + i + 1] = at;
    }
    this.validity = appendValidity(this.validity, base, offsets.length - 1, validity, rows);
    this.view = viewOf(this);
  }

  reserve(rowCount: number, needed: number, byteCount = 0): void {
    if (needed >= this.offsets.length) {
      const grown = new Int32Array(Math.max(needed, rowCount + (rowCount >> 1)) + 1);
      grown.set(this.offsets.subarray(0, rowCount + 1));
      this.offsets = grown;
      if (this.validity !== undefined) this.validity = grownBits(this.validity, grown.length);
    }
    if (byteCount > this.bytes.length) {
      const used = this.offsets[rowCount] as number;
      const grown = new Uint8Array(Math.max(byteCount, used + (used >> 1), 64));
      grown.set(this.bytes.subarray(0, used));
      this.bytes = grown;
    }
  }

  clear(): void {
    this.validity = undefined;
    this.view = viewOf(this);
  }

  slice(from: number, to: number): Column {
    const offsets = this.offsets.subarray(from, to + 1);
    const validity = this.validity?.subarray(from >> 3);
    return { kind: "text", type: this.type, offsets, bytes: this.bytes, validity };
  }

  get byteCount(): number {
    return this.bytes.byteLength + this.offsets.byteLength + (this.validity?.byteLength ?? 0);
  }
}

function grownBits(bits: Uint8Array, rowCount: number): Uint8Array {
  const grown = new Uint8Array(validityBytes(rowCount));
  grown.set(bits.subarray(0, Math.min(bits.length, grown.length)));
  return grown;
}

export class RowStore {
  readonly types: readonly DataType[];
  readonly #columns: readonly (FixedStore | TextStore)[];
  #rowCount = 0;

  constructor(types: readonly DataType[]) {
    this.types = types;
    this.#columns = types.map(({ name }) =>
      name === "VARSIZED" ? new TextStore() : new FixedStore(name),
    );
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** What loops read; it changes whenever rows are appended. */
  get views(): readonly ColumnView[] {
    return this.#columns.map(({ view }) => view);
  }

  /** Appends the rows with these numbers. The types of the columns are those of the store. */
  append(sources: readonly ColumnView[], rows: Int32Array): void {
    const { length } = this.#columns;
    for (let i = 0; i < length; i += 1) {
      this.#columns[i]?.append(sources[i] as ColumnView, rows, this.#rowCount);
    }
    this.#rowCount += rows.length;
  }

  /** Makes room for so many rows, without the content of their texts. */
  reserve(rowCount: number): void {
    for (const column of this.#columns) column.reserve(this.#rowCount, rowCount);
  }

  /** Appends rows whose columns are all NULL. */
  appendNulls(count: number): void {
    const rows = new Int32Array(count);
    const validity = new Uint8Array(1);
    const sources = this.types.map(({ name }) => {
      if (name !== "VARSIZED") {
        return viewOf({ kind: "fixed", type: name, values: createValues(name, 1), validity });
      }
      const [offsets, bytes] = [new Int32Array(2), new Uint8Array(0)];
      return viewOf({ kind: "text", type: name, offsets, bytes, validity });
    });
    this.append(sources, rows);
  }

  /** Forgets the rows and keeps the room, for a batch that is made again and again. */
  clear(): void {
    this.#rowCount = 0;
    for (const column of this.#columns) column.clear();
  }

  /** The rows from `from`, which is a multiple of 8, up to `to`, without a copy. */
  columns(from: number, to: number): Column[] {
    return this.#columns.map((column) => column.slice(from, to));
  }

  /** What the arrays take, whether they are full or not. */
  get bytes(): number {
    let sum = 0;
    for (const column of this.#columns) {
      sum += column.kind === "text" ? column.byteCount : column.bytes;
    }
    return sum;
  }

  /** The bytes of the fixed part of a row. */
  get rowBytes(): number {
    return this.types.reduce((sum, { name }) => sum + (widthOf(name) || 4), 0);
  }
}
