/**
 * The buffers of the columns that a parser fills, and the batch that is made of them. They are
 * allocated once and used again for every batch; only those for texts grow.
 */
import { DialectError, type Field, type TypeName } from "../../../language/core/index.ts";
import {
  type Batch,
  batchRowsMax,
  type Column,
  createValues,
  type FixedArray,
  validityBytes,
} from "../batch.ts";
import { copyBytes, grownLength } from "../expressions/text-arena.ts";

/** One column while it is filled. */
export class ColumnBuffer {
  readonly name: string;
  readonly type: TypeName;
  readonly nullable: boolean;
  /** Whether a 64-bit integer may be written as an ISO 8601 time. */
  readonly isTime: boolean;
  /** Absent for texts. */
  readonly values: FixedArray;
  /** The values of 64-bit integers as halves, the low one first. */
  readonly halves: Int32Array;
  readonly offsets: Int32Array;
  readonly validity: Uint8Array;
  bytes: Uint8Array;
  /** Where the next text goes. */
  place = 0;
  nullCount = 0;

  constructor(field: Field, isTime: boolean) {
    const { name } = field.type;
    this.name = field.name;
    this.type = name;
    this.nullable = field.type.nullable;
    this.isTime = isTime && (name === "INT64" || name === "UINT64");
    this.values = createValues(
      name === "VARSIZED" ? "UINT8" : name,
      name === "VARSIZED" ? 0 : batchRowsMax,
    );
    const wide = name === "INT64" || name === "UINT64";
    this.halves = wide ? new Int32Array(this.values.buffer) : new Int32Array(0);
    this.offsets = new Int32Array(name === "VARSIZED" ? batchRowsMax + 1 : 1);
    this.validity = new Uint8Array(validityBytes(batchRowsMax)).fill(255);
    this.bytes = new Uint8Array(0);
  }

  setNull(row: number): void {
    this.validity[row >> 3] = (this.validity[row >> 3] as number) & ~(1 << (row & 7));
    this.nullCount += 1;
  }

  /** Makes room for so many more bytes. */
  reserve(length: number): void {
    if (this.place + length <= this.bytes.length) return;
    const grown = new Uint8Array(grownLength(this.bytes.length, this.place + length));
    grown.set(this.bytes.subarray(0, this.place));
    this.bytes = grown;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    copyBytes(this.bytes, this.place, bytes, start, end);
    this.place += end - start;
  }

  /** Forgets what was written for a row that is left out. */
  undo(row: number): void {
    this.validity[row >> 3] = (this.validity[row >> 3] as number) | (1 << (row & 7));
    if (this.type === "VARSIZED") this.place = this.offsets[row] as number;
  }

  toColumn(): Column {
    const validity = this.nullCount === 0 ? undefined : this.validity;
    if (this.type === "VARSIZED") {
      const { offsets, bytes } = this;
      return { kind: "text", type: "VARSIZED", offsets, bytes, validity };
    }
    return { kind: "fixed", type: this.type, values: this.values, validity };
  }

  clear(): void {
    if (this.nullCount > 0) this.validity.fill(255);
    this.nullCount = 0;
    this.place = 0;
  }
}

/** The rows that are complete, and the columns they are in. */
export class RowBuffer {
  readonly columns: readonly ColumnBuffer[];
  rowCount = 0;
  readonly #emit: (batch: Batch) => void;

  constructor(fields: readonly Field[], isoTimes: boolean, emit: (batch: Batch) => void) {
    this.columns = fields.map((field) => new ColumnBuffer(field, isoTimes));
    this.#emit = emit;
  }

  /** Emits the rows, if there are any, and starts a new batch. */
  flush(): void {
    if (this.rowCount === 0) return;
    const columns = this.columns.map((column) => column.toColumn());
    const { rowCount } = this;
    this.rowCount = 0;
    this.#emit({ rowCount, columns, selection: undefined });
    for (const column of this.columns) column.clear();
  }
}

/** A value that could not be read, for the message of error 3002. */
export function failMalformed(reason: string, place: string): never {
  throw new DialectError(3002, `${reason}, in the record at ${place}`, {
    hint: "ON_MALFORMED = 'null', 'skip' or 'dead_letter' lets the query go on.",
  });
}
