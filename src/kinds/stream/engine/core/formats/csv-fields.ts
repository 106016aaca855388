/**
 * What the generated CSV parser does not do itself: fields in quotes, values that are not of the
 * simplest form, NULLs, records with too few or too many fields, and all that is malformed.
 */
import type { RecordParserContext } from "../records.ts";
import { failLength } from "./chunked-records.ts";
import { type ColumnBuffer, failMalformed, type RowBuffer } from "./column-buffers.ts";
import { parseValue } from "./parse-value.ts";
import type { CsvInputSettings } from "./settings.ts";

const quote = 34;
const decoder = new TextDecoder();

/** The field does not end before the limit: its record is not complete. */
export const incomplete = -1;

export class CsvFields {
  /** Why the record at hand is left out, when it is. */
  bad = "";
  /** Whether the end of the input is at the limit. */
  final = false;
  /** The offset of the array's first byte, and where the record at hand starts in it. */
  base = 0;
  start = 0;
  readonly #rows: RowBuffer;
  /** The column of the batch for each field of the record. */
  readonly #order: readonly (number | undefined)[];
  readonly #settings: CsvInputSettings;
  readonly #context: RecordParserContext;
  readonly #fieldDelimiter: Uint8Array;
  readonly #tupleDelimiter: Uint8Array;
  readonly #linesEndWithLf: boolean;
  /** The content of a quoted field without its quotes, when it had to be copied. */
  #unquoted = new Uint8Array(256);

  constructor(
    rows: RowBuffer,
    order: readonly (number | undefined)[],
    settings: CsvInputSettings,
    context: RecordParserContext,
  ) {
    this.#rows = rows;
    this.#order = order;
    this.#settings = settings;
    this.#context = context;
    this.#fieldDelimiter = settings.fieldDelimiter;
    this.#tupleDelimiter = settings.tupleDelimiter;
    this.#linesEndWithLf =
      settings.tupleDelimiter.length === 1 && settings.tupleDelimiter[0] === 10;
  }

  /** Reads a field into a column. Returns the place of the delimiter behind it, or `incomplete`. */
  read(index: number, bytes: Uint8Array, start: number, limit: number, row: number): number {
    const column = this.#rows.columns[index] as ColumnBuffer;
    if (bytes[start] === quote) {
      const close = this.#closingQuote(bytes, start, limit);
      if (close === incomplete) {
        if (this.#settings.quotes === "strip") {
          if (!this.final) return incomplete;
          this.#malformed(column, bytes, start, limit, row, "has a quote that is not closed");
          return limit - this.#tupleDelimiter.length;
        }
      } else {
        const end = close + 1;
        if (this.#isEnd(bytes, end)) {
          if (this.#settings.quotes === "keep") this.#value(column, bytes, start, end, row);
          else this.#quoted(column, bytes, start + 1, close, row);
          return end;
        }
      }
    }
    const end = this.skipPlain(bytes, start);
    this.#value(column, bytes, start, this.#trimCr(bytes, start, end), row);
    return end;
  }

  /** The place of the delimiter behind a field that nobody reads, or `incomplete`. */
  skip(bytes: Uint8Array, start: number, limit: number): number {
    if (bytes[start] === quote) {
      const close = this.#closingQuote(bytes, start, limit);
      if (close === incomplete && this.#settings.quotes === "strip") {
        return this.final ? limit - this.#tupleDelimiter.length : incomplete;
      }
      if (close !== incomplete && this.#isEnd(bytes, close + 1)) return close + 1;
    }
    return this.skipPlain(bytes, start);
  }

  /** The place of the next delimiter of either kind. */
  skipPlain(bytes: Uint8Array, start: number): number {
    let at = start;
    while (!matches(bytes, at, this.#fieldDelimiter) && !matches(bytes, at, this.#tupleDelimiter)) {
      at += 1;
    }
    return at;
  }

  /** The record ended after so many fields: the others are missing. */
  missing(fieldCount: number, row: number): void {
    const { onMalformed } = this.#settings;
    const reason = `the record has ${fieldCount} ${fieldCount === 1 ? "field" : "fields"} only`;
    if (onMalformed === "fail") failMalformed(reason, this.base + this.start);
    if (onMalformed !== "null") {
      this.bad ||= reason;
      return;
    }
    for (const index of this.#order.slice(fieldCount)) {
      const column = index === undefined ? undefined : this.#rows.columns[index];
      if (column !== undefined) this.#missingValue(column, row, reason);
    }
  }

  /** Behind the last field comes another one. Returns where the record ends, or `incomplete`. */
  excess(bytes: Uint8Array, delimiter: number, limit: number): number {
    const { onMalformed } = this.#settings;
    let at = delimiter;
    while (!matches(bytes, at, this.#tupleDelimiter)) {
      at = this.skip(bytes, at + this.#fieldDelimiter.length, limit);
      if (at === incomplete) return incomplete;
    }
    const reason = "the record has too many fields";
    if (onMalformed === "fail") failMalformed(reason, this.base + this.start);
    if (onMalformed !== "null") this.bad ||= reason;
    return at;
  }

  /** Takes back what was written for the record at hand, which is not complete. */
  rollBack(row: number): void {
    this.bad = "";
    for (const column of this.#rows.columns) column.undo(row);
  }

  /** Reports the record at hand, which ends at `end`, and leaves it out. */
  leaveOut(bytes: Uint8Array, end: number, row: number): void {
    const { bad } = this;
    this.rollBack(row);
    this.#context.malformed.skipped(bytes.subarray(this.start, end), this.base + this.start, bad);
  }

  failLength(): never {
    failLength(this.#settings.recordBytesMax, this.base + this.start);
  }

  #value(column: ColumnBuffer, bytes: Uint8Array, start: number, end: number, row: number): void {
    if (start === end) {
      if (column.nullable) this.#null(column, row);
      else if (column.type !== "VARSIZED") {
        this.#malformed(column, bytes, start, end, row, "is empty, and is NOT NULL");
      }
      return;
    }
    if (!parseValue(column, row, bytes, start, end)) {
      this.#malformed(column, bytes, start, end, row, `is no ${column.type}`);
    }
  }

  /** A field in quotes, which are stripped: an empty one is an empty text. */
  #quoted(column: ColumnBuffer, bytes: Uint8Array, start: number, end: number, row: number): void {
    if (start === end && column.type === "VARSIZED") return;
    const escapeByte = this.#settings.escape;
    let plain = true;
    for (let at = start; at < end && plain; at += 1) {
      plain = bytes[at] !== quote && bytes[at] !== escapeByte;
    }
    if (plain) {
      this.#value(column, bytes, start, end, row);
      return;
    }
    if (this.#unquoted.length < end - start) this.#unquoted = new Uint8Array((end - start) * 2);
    let length = 0;
    for (let at = start; at < end; at += 1) {
      if ((bytes[at] === quote || bytes[at] === escapeByte) && at + 1 < end) at += 1;
      this.#unquoted[length] = bytes[at] as number;
      length += 1;
    }
    this.#value(column, this.#unquoted, 0, length, row);
  }

  /** With quotes kept, a record ends at every tuple delimiter, so the quote must close before. */
  #closingQuote(bytes: Uint8Array, start: number, limit: number): number {
    const { escape: escapeByte, quotes } = this.#settings;
    let at = start + 1;
    while (at < limit) {
      const code = bytes[at] as number;
      if (code === escapeByte && escapeByte !== quote) at += 2;
      else if (code === quote) {
        if (bytes[at + 1] !== quote || at + 1 >= limit) return at;
        at += 2;
      } else if (quotes === "keep" && matches(bytes, at, this.#tupleDelimiter)) return incomplete;
      else at += 1;
    }
    return incomplete;
  }

  #isEnd(bytes: Uint8Array, at: number): boolean {
    return (
      matches(bytes, at, this.#fieldDelimiter) ||
      matches(bytes, at, this.#tupleDelimiter) ||
      (this.#linesEndWithLf && bytes[at] === 13 && bytes[at + 1] === 10)
    );
  }

  /** A carriage return before a line feed belongs to the end of the line. */
  #trimCr(bytes: Uint8Array, start: number, end: number): number {
    const isCr = this.#linesEndWithLf && end > start && bytes[end] === 10 && bytes[end - 1] === 13;
    return isCr ? end - 1 : end;
  }

  #missingValue(column: ColumnBuffer, row: number, reason: string): void {
    if (!column.nullable)
      failMalformed(`${reason}, and ${column.name} is NOT NULL`, this.base + this.start);
    this.#null(column, row);
    this.#context.malformed.nulled(1);
  }

  #null(column: ColumnBuffer, row: number): void {
    column.setNull(row);
  }

  #malformed(
    column: ColumnBuffer,
    bytes: Uint8Array,
    start: number,
    end: number,
    row: number,
    problem: string,
  ): void {
    const { onMalformed } = this.#settings;
    const shown = decoder.decode(bytes.subarray(start, Math.min(end, start + 60)));
    const reason = `field ${column.name} ${problem}: '${shown}'`;
    if (onMalformed === "fail" || (onMalformed === "null" && !column.nullable)) {
      failMalformed(reason, this.base + this.start);
    }
    if (onMalformed === "null") {
      this.#null(column, row);
      this.#context.malformed.nulled(1);
    } else {
      this.bad ||= reason;
    }
  }
}

function matches(bytes: Uint8Array, at: number, delimiter: Uint8Array): boolean {
  for (let i = 0; i < delimiter.length; i += 1) {
    if (bytes[at + i] !== delimiter[i]) return false;
  }
  return true;
}
