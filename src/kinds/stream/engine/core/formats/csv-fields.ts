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
/** No quote closes the field. */
const unclosed = -2;

export class CsvFields {
  /** Why the record at hand is left out, when it is. */
  bad = "";
  /** Whether the end of the input is at the limit. */
  final = false;
  /** The place behind the last byte that is there, at the limit or behind it. */
  known = 0;
  /** How many values of the record at hand became NULL. */
  nulls = 0;
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
  readonly #delimiterBytesMax: number;
  /** A field whose quote is not closed yet, and how far it was searched: offsets in the input. */
  #openField = -1;
  #searchedTo = 0;
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
    // A carriage return and a line feed are two bytes.
    this.#delimiterBytesMax = Math.max(
      2,
      settings.fieldDelimiter.length,
      settings.tupleDelimiter.length,
    );
  }

  /** Reads a field into a column. Returns the place of the delimiter behind it, or `incomplete`. */
  read(index: number, bytes: Uint8Array, start: number, limit: number, row: number): number {
    const column = this.#rows.columns[index] as ColumnBuffer;
    if (bytes[start] === quote) {
      const end = this.#quotedEnd(bytes, start, limit);
      if (end === incomplete) return incomplete;
      if (end === unclosed) {
        this.#malformed(column, bytes, start, limit, row, "has a quote that is not closed");
        return limit - this.#tupleDelimiter.length;
      }
      if (end > 0) {
        if (this.#settings.quotes === "keep") this.#value(column, bytes, start, end, row);
        else this.#quoted(column, bytes, start + 1, end - 1, row);
        return end;
      }
    }
    const end = this.skipPlain(bytes, start);
    this.#value(column, bytes, start, this.#trimCr(bytes, start, end), row);
    return end;
  }

  /** The place of the delimiter behind a field that nobody reads, or `incomplete`. */
  skip(bytes: Uint8Array, start: number, limit: number): number {
    if (bytes[start] === quote) {
      const end = this.#quotedEnd(bytes, start, limit);
      if (end === unclosed) return limit - this.#tupleDelimiter.length;
      if (end !== 0) return end;
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
    if (onMalformed === "fail") failMalformed(reason, this.#place);
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
      // A quoted field may end at the carriage return before a line feed.
      const isField = matches(bytes, at, this.#fieldDelimiter);
      at = isField ? this.skip(bytes, at + this.#fieldDelimiter.length, limit) : at + 1;
      if (at === incomplete) return incomplete;
    }
    const reason = "the record has too many fields";
    if (onMalformed === "fail") failMalformed(reason, this.#place);
    if (onMalformed !== "null") this.bad ||= reason;
    return at;
  }

  /** Takes back what was written for the record at hand, which is not complete. */
  rollBack(row: number): void {
    this.bad = "";
    this.nulls = 0;
    for (const column of this.#rows.columns) column.undo(row);
  }

  /** Reports the record at hand, which ends at `end`, and leaves it out. */
  leaveOut(bytes: Uint8Array, end: number, row: number): void {
    const { bad } = this;
    this.rollBack(row);
    this.#context.malformed.skipped(bytes.subarray(this.start, end), this.base + this.start, bad);
  }

  /** Tells of the values of the record at hand that became NULL. */
  countNulls(): void {
    this.#context.malformed.nulled(this.nulls);
    this.nulls = 0;
  }

  /** Of the record at hand. */
  get #place(): string {
    const offset = this.base + this.start;
    return this.#context.malformed.place?.(offset) ?? `byte ${offset}`;
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

  /**
   * The place behind the quote that closes the field at `start`; 0 where it is a plain one, since
   * what follows the quote is no delimiter; `incomplete`, or `unclosed`. What it says depends on
   * the bytes from the record's start on, never on how many of them happen to be there.
   */
  #quotedEnd(bytes: Uint8Array, start: number, limit: number): number {
    if (this.#settings.quotes === "keep") return this.#keptEnd(bytes, start);
    const { escape: escapeByte, recordBytesMax } = this.#settings;
    const longest = this.start + recordBytesMax;
    const stop = Math.min(this.known, longest);
    const isKnown = this.base + start === this.#openField;
    let at = isKnown ? this.#searchedTo - this.base : start + 1;
    while (at < stop) {
      const code = bytes[at] as number;
      if (code === escapeByte && escapeByte !== quote) at += 2;
      else if (code !== quote) at += 1;
      else if (at + 1 >= this.known) break;
      else if (bytes[at + 1] === quote) at += 2;
      else return this.#endBehind(bytes, at + 1, limit);
    }
    if (at >= longest || (at >= stop && this.known >= longest)) this.failLength();
    this.#openField = this.base + start;
    this.#searchedTo = this.base + at;
    return this.final ? unclosed : incomplete;
  }

  /** `end` where the field ends there, 0 where it does not, and `incomplete` where nobody knows. */
  #endBehind(bytes: Uint8Array, end: number, limit: number): number {
    // A delimiter that begins before the limit ends at the limit or before.
    if (end < limit) return this.#isEnd(bytes, end) ? end : 0;
    if (end + this.#delimiterBytesMax > this.known) return incomplete;
    return this.#isEnd(bytes, end) ? incomplete : 0;
  }

  /** With quotes kept, a record ends at every tuple delimiter, so the quote must close before. */
  #keptEnd(bytes: Uint8Array, start: number): number {
    const { escape: escapeByte } = this.#settings;
    let at = start + 1;
    while (!matches(bytes, at, this.#tupleDelimiter)) {
      const code = bytes[at] as number;
      if (code === quote) {
        if (bytes[at + 1] !== quote) return this.#isEnd(bytes, at + 1) ? at + 1 : 0;
        at += 2;
      } else {
        const isEscape = code === escapeByte && !matches(bytes, at + 1, this.#tupleDelimiter);
        at += isEscape ? 2 : 1;
      }
    }
    return 0;
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
    if (!column.nullable) failMalformed(`${reason}, and ${column.name} is NOT NULL`, this.#place);
    this.#null(column, row);
    this.nulls += 1;
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
      failMalformed(reason, this.#place);
    }
    if (onMalformed === "null") {
      this.#null(column, row);
      this.nulls += 1;
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
