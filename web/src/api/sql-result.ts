/**
 * A result of `/api/v1/sql` as it arrives: a line for the columns, a line for each row, and a last
 * line with a summary or an error. Pure.
 * At most `rowsKeptMax` rows are kept; the others are only counted, so memory is bounded. Numbers
 * that a double cannot hold keep their digits, as text.
 */
import type { ErrorPlace } from "./http.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
}
export interface SqlSummary {
  readonly row_count: number;
  readonly duration_ms: number;
  readonly worker_id: string | null;
  readonly artifact_bytes: number | null;
}
export interface SqlFailure extends ErrorPlace {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}
export type Cell = string | number | boolean | null | readonly unknown[] | object;

export const rowsKeptMax = 500;

export class SqlResultReader {
  #rest = "";
  queryId: string | undefined;
  columns: readonly Column[] = [];
  readonly rows: (readonly Cell[])[] = [];
  rowCount = 0;
  summary: SqlSummary | undefined;
  failure: SqlFailure | undefined;

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  /** Ends the stream. One without a summary was cut off, which must not look like a result. */
  end(): void {
    if (this.#rest !== "") this.#take(this.#rest);
    this.#rest = "";
    if (this.summary === undefined) {
      this.failure ??= {
        code: "cut_off",
        message: "The result was cut off before its end.",
        hint: "The coordinator may have stopped. Run the query again.",
      };
    }
  }

  #take(line: string): void {
    if (line.startsWith("[")) {
      this.rowCount += 1;
      if (this.rows.length < rowsKeptMax) this.rows.push(parseExact(line) as Cell[]);
    } else if (line.startsWith("{")) {
      this.#takeObject(JSON.parse(line) as ResultLine);
    }
  }

  #takeObject(line: ResultLine): void {
    if (line.columns !== undefined) this.columns = line.columns;
    this.queryId ??= line.query_id;
    this.summary ??= line.summary;
    this.failure ??= line.error;
  }
}

interface ResultLine {
  readonly query_id?: string;
  readonly columns?: readonly Column[];
  readonly summary?: SqlSummary;
  readonly error?: SqlFailure;
}

/** TypeScript lacks the reviver's third argument; browsers without it only lose digits. */
type SourceReviver = (
  key: string,
  value: unknown,
  context?: { readonly source?: string },
) => unknown;

const keepDigits: SourceReviver = (_key, value, context) =>
  typeof value === "number" && context?.source !== undefined && String(value) !== context.source
    ? context.source
    : value;

function parseExact(line: string): unknown {
  return JSON.parse(line, keepDigits as (key: string, value: unknown) => unknown);
}
