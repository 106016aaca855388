/**
 * What the generated JSON parser does not do itself: everything but values of the simplest form.
 */
import { DialectError } from "../../../language/core/index.ts";
import type { RecordParserContext } from "../records.ts";
import { failLength } from "./chunked-records.ts";
import { type ColumnBuffer, failMalformed, type RowBuffer } from "./column-buffers.ts";
import { noJson, skipValue, unescapeString } from "./json-scan.ts";
import { parseValue } from "./parse-value.ts";
import type { JsonInputSettings } from "./settings.ts";

const decoder = new TextDecoder();

export class JsonValues {
  /** Why the record at hand is left out, when it is. */
  bad = "";
  base = 0;
  start = 0;
  /** The record that a column was read in last, by column. */
  readonly seen: Float64Array;
  readonly #rows: RowBuffer;
  readonly #settings: JsonInputSettings;
  readonly #context: RecordParserContext;
  #content = new Uint8Array(256);

  constructor(rows: RowBuffer, settings: JsonInputSettings, context: RecordParserContext) {
    this.#rows = rows;
    this.#settings = settings;
    this.#context = context;
    this.seen = new Float64Array(rows.columns.length);
  }

  /** Reads the value at `start` into a column. Returns the place behind it, or `noJson`. */
  read(index: number, bytes: Uint8Array, start: number, limit: number, row: number): number {
    const column = this.#rows.columns[index] as ColumnBuffer;
    const end = this.skip(bytes, start, limit);
    if (end === noJson) {
      // Nothing was read into the column, so it is among those that become NULL.
      this.seen[index] = 0;
      return noJson;
    }
    const first = bytes[start];
    if (first === 110) this.#nullValue(column, row);
    else if (first === 34) this.#string(column, bytes, start + 1, end - 1, row);
    else if (!parseValue(column, row, bytes, start, end)) {
      this.#malformed(column, bytes, start, end, row);
    }
    return end;
  }

  /** The place behind a value that nobody reads, or `noJson`. */
  skip(bytes: Uint8Array, start: number, limit: number): number {
    return skipValue(bytes, start, limit, this.#settings.tupleDelimiter[0] as number);
  }

  /** A key came a second time: what the first wrote is taken back. */
  again(index: number, row: number): void {
    (this.#rows.columns[index] as ColumnBuffer).undo(row);
  }

  /** Columns that the record has no key for. */
  missing(record: number, row: number): void {
    this.seen.forEach((seenIn, index) => {
      if (seenIn === record) return;
      const column = this.#rows.columns[index] as ColumnBuffer;
      if (column.nullable) {
        column.setNull(row);
        return;
      }
      const reason = `the key ${column.name} is missing, and the field is NOT NULL`;
      const { onMalformed } = this.#settings;
      if (onMalformed === "fail" || onMalformed === "null") {
        throw new DialectError(2004, `${reason}, in the record at ${this.#place}`);
      }
      this.bad ||= reason;
    });
  }

  /** The record `start .. end` is no JSON object. Returns whether it counts nevertheless. */
  noObject(bytes: Uint8Array, place: number, end: number, record: number, row: number): boolean {
    const { onMalformed } = this.#settings;
    const shown = decoder.decode(bytes.subarray(place, Math.min(end, place + 30)));
    const reason = `the record is no JSON object from '${shown}' on`;
    if (onMalformed === "fail") failMalformed(reason, this.#place);
    if (onMalformed !== "null") {
      this.bad ||= reason;
      return false;
    }
    this.seen.forEach((seenIn, index) => {
      const column = this.#rows.columns[index] as ColumnBuffer;
      if (seenIn === record) return;
      if (!column.nullable) failMalformed(`${reason}, and ${column.name} is NOT NULL`, this.#place);
      column.setNull(row);
    });
    this.#context.malformed.nulled(1);
    return true;
  }

  /** Reports the record at hand and leaves it out. */
  leaveOut(bytes: Uint8Array, end: number, row: number): void {
    const { bad } = this;
    this.bad = "";
    for (const column of this.#rows.columns) column.undo(row);
    this.#context.malformed.skipped(bytes.subarray(this.start, end), this.base + this.start, bad);
  }

  /** Of the record at hand. */
  get #place(): string {
    const offset = this.base + this.start;
    return this.#context.malformed.place?.(offset) ?? `byte ${offset}`;
  }

  failLength(): never {
    failLength(this.#settings.recordBytesMax, this.base + this.start);
  }

  #nullValue(column: ColumnBuffer, row: number): void {
    if (column.nullable) column.setNull(row);
    else this.#refuse(column, row, `field ${column.name} is null, and is NOT NULL`);
  }

  #string(column: ColumnBuffer, bytes: Uint8Array, start: number, end: number, row: number): void {
    const { type } = column;
    if (type !== "VARSIZED" && type !== "CHAR" && !column.isTime) {
      this.#malformed(column, bytes, start - 1, end + 1, row);
      return;
    }
    if (this.#content.length < end - start) this.#content = new Uint8Array((end - start) * 2);
    const length = unescapeString(bytes, start, end, this.#content);
    if (length === noJson || !parseValue(column, row, this.#content, 0, length)) {
      this.#malformed(column, bytes, start - 1, end + 1, row);
    }
  }

  #malformed(
    column: ColumnBuffer,
    bytes: Uint8Array,
    start: number,
    end: number,
    row: number,
  ): void {
    const shown = decoder.decode(bytes.subarray(start, Math.min(end, start + 60)));
    this.#refuse(column, row, `field ${column.name} is no ${column.type}: ${shown}`);
  }

  #refuse(column: ColumnBuffer, row: number, reason: string): void {
    const { onMalformed } = this.#settings;
    if (onMalformed === "fail" || (onMalformed === "null" && !column.nullable)) {
      failMalformed(reason, this.#place);
    }
    if (onMalformed === "null") {
      column.setNull(row);
      this.#context.malformed.nulled(1);
    } else {
      this.bad ||= reason;
    }
  }
}
