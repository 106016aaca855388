/**
 * Reads the rows of an artifact of kind `sql` as NDJSON, page by page, in the engine's process.
 *
 * Each page is a statement of its own, so an idle reader holds neither a connection nor memory.
 * DuckDB makes the text of the rows. A first page that is certainly small comes as a result, the
 * quickest way to the first row. The others are written to files of a few megabytes, because a row
 * that crosses into JavaScript costs more than making it. A reader's state is two numbers, so
 * another process can continue.
 */

import { readFileSync, rmSync, statSync } from "node:fs";
import type { Clock } from "../../ground/kernel/clock.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { withoutPaths } from "../../ground/kernel/without-paths.ts";
import { quoteText } from "../sql/core/index.ts";
import { type ArtifactColumn, columnName, parseArtifactColumns } from "./artifact-columns.ts";
import type { ColumnShape } from "./column-shape.ts";
import { isInterrupt, translateDuckDbError } from "./duckdb-error.ts";
import type { RowCursor, RowPage } from "./engine-messages.ts";
import { jsonText, rowText } from "./json-text.ts";
import { limitFileSize } from "./limit-file-size.ts";
import { type Lane, onlyText } from "./statement-pool.ts";

const firstPageRowsMax = 1_024;
/** With lists the file's size bounds nothing: a list can repeat one value any number of times. */
const firstPageRowsOfLists = 16;
/** The greatest ratio of distinct values to file size: Snappy needs 3 bytes for 64 at best. */
const compressionMax = 24;
const fixedWidthBytesMax = 64;
const pageRowsMax = 1_000_000;
const pageBytesWanted = 4 * 1024 * 1024;
/** A larger page is discarded and made again with fewer rows. */
const pageBytesMax = 64 * 1024 * 1024;
/** Only a first page below this size comes as a result, which is several times in memory. */
const firstPageBytesMax = 1024 * 1024;
/** Larger pages travel as files: messages are copied on the caller's thread. */
const messageBytesMax = 128 * 1024;
const growthMax = 64;
const shrinkBy = 8;
/** Writes lines unchanged: one column, nothing quoted. */
const linesFormat = `FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'`;

export interface ReaderPlace {
  /** The prefix of page files, unique to this reader. */
  readonly pagePrefix: string;
  readonly rowBytesMax: number;
}

export class ArtifactReader {
  readonly columns: readonly ArtifactColumn[];
  readonly #path: string;
  readonly #pagePrefix: string;
  readonly #rowBytesMax: number;
  readonly #clock: Clock;
  readonly #line: string;
  /** An upper bound of the first page, whatever its values are. */
  readonly #firstBytesMax: number;
  #nextRow = 0;
  #pageRows: number;

  private constructor(
    path: string,
    { pagePrefix, rowBytesMax }: ReaderPlace,
    columns: readonly ArtifactColumn[],
    clock: Clock,
  ) {
    const { rows, bytesMax } = firstPageOf(columns, path);
    this.#pageRows = rows;
    this.#firstBytesMax = bytesMax;
    this.#path = path;
    this.#pagePrefix = pagePrefix;
    this.#rowBytesMax = rowBytesMax;
    this.columns = columns;
    this.#clock = clock;
    this.#line = rowText(columns.map(({ shape }, index) => jsonText(shape, columnName(index))));
  }

  /** Throws `artifact_corrupt` when the file is no artifact of kind `sql`. */
  static async open(
    { readColumns }: Lane,
    path: string,
    place: ReaderPlace,
    clock: Clock,
  ): Promise<ArtifactReader> {
    try {
      readColumns.bindVarchar(1, path);
      const columns = parseArtifactColumns(onlyText(await readColumns.run()));
      return new ArtifactReader(path, place, columns, clock);
    } catch (thrown) {
      throw translateReadError(thrown);
    }
  }

  get cursor(): RowCursor {
    return { nextRow: this.#nextRow, pageRows: this.#pageRows };
  }

  goTo({ nextRow, pageRows }: RowCursor): void {
    this.#nextRow = nextRow;
    this.#pageRows = pageRows;
  }

  /** Must not be called again before it has settled, nor after the last page. */
  async nextPage(lane: Lane): Promise<Page> {
    for (;;) {
      try {
        const wantedRows = this.#pageRows;
        const isSmall = this.#nextRow === 0 && this.#firstBytesMax <= firstPageBytesMax;
        const page = isSmall ? await this.#smallPage(lane) : await this.#filePage(lane);
        this.#nextRow += page.rowCount;
        this.#resize(page.sizeBytes, page.rowCount);
        return { rows: page.rows, last: page.rowCount < wantedRows };
      } catch (thrown) {
        const error = translateReadError(thrown);
        if (!isTooLarge(error) || this.#pageRows === 1) throw error;
        this.#pageRows = Math.max(1, Math.floor(this.#pageRows / shrinkBy));
      }
    }
  }

  async #smallPage({ connection }: Lane): Promise<Lines> {
    const reader = await connection.runAndReadAll(this.#select());
    const lines = reader.getColumns()[0] ?? [];
    const text = lines.length === 0 ? "" : `${lines.join("\n")}\n`;
    const rows = new TextEncoder().encode(text);
    return { rows, sizeBytes: rows.length, rowCount: lines.length };
  }

  async #filePage({ connection }: Lane): Promise<Lines> {
    const isRow = this.#pageRows === 1;
    const bytesMax = isRow ? this.#rowBytesMax : Math.min(pageBytesMax, this.#rowBytesMax);
    const tooLarge = (): OperatingError => (isRow ? rowTooLarge(bytesMax) : pageTooLarge());
    const file = this.#pageFile();
    const limit = limitFileSize(file, bytesMax, this.#clock, () => connection.interrupt());
    const to = `TO ${quoteText(file)} (${linesFormat})`;
    try {
      const result = await connection.run(`COPY (${this.#select()}) ${to}`);
      const sizeBytes = statSync(file).size;
      if (sizeBytes > bytesMax) throw tooLarge();
      const rows = sizeBytes <= messageBytesMax ? takeFile(file) : { file };
      return { rows, sizeBytes, rowCount: result.rowsChanged };
    } catch (thrown) {
      rmSync(file, { force: true });
      if (limit.exceeded() && isInterrupt(thrown)) throw tooLarge();
      throw thrown;
    } finally {
      limit.stop();
    }
  }

  #pageFile(): string {
    return `${this.#pagePrefix}-${this.#nextRow}.ndjson`;
  }

  /** DuckDB reads only the row groups that a range of rows needs, and keeps their order. */
  #select(): string {
    const endRow = this.#nextRow + this.#pageRows;
    const from = `FROM read_parquet(${quoteText(this.#path)}, file_row_number = true)`;
    const rows = `file_row_number >= ${this.#nextRow} AND file_row_number < ${endRow}`;
    return `SELECT ${this.#line} ${from} WHERE ${rows}`;
  }

  #resize(bytesRead: number, rowsRead: number): void {
    if (rowsRead === 0) return;
    const wanted = Math.floor((pageBytesWanted * rowsRead) / bytesRead);
    this.#pageRows = Math.max(1, Math.min(wanted, rowsRead * growthMax, pageRowsMax));
  }
}

const boundedShapes: ReadonlySet<ColumnShape> = new Set([
  "bare",
  "decimal",
  "double",
  "float",
  "timestamp",
  "timestamp_ns",
  "timestamptz",
]);

/** Chooses as many rows as surely fit the page: all rows of most small results. */
function firstPageOf(
  columns: readonly ArtifactColumn[],
  path: string,
): { readonly rows: number; readonly bytesMax: number } {
  const isBounded = columns.every(({ shape }) => boundedShapes.has(shape));
  const hasLists = columns.some(({ shape }) => typeof shape === "object");
  // No value is larger than all values of the file together.
  const rowBytesMax = isBounded
    ? columns.length * fixedWidthBytesMax
    : statSync(path).size * compressionMax;
  const rowsMax = hasLists ? firstPageRowsOfLists : firstPageRowsMax;
  const rows = Math.max(1, Math.min(rowsMax, Math.floor(pageBytesMax / rowBytesMax)));
  // A list can repeat one value of the file.
  return { rows, bytesMax: hasLists ? Number.POSITIVE_INFINITY : rows * rowBytesMax };
}

interface Page {
  readonly rows: RowPage["rows"];
  /** No rows follow. */
  readonly last: boolean;
}

interface Lines {
  readonly rows: RowPage["rows"];
  readonly sizeBytes: number;
  readonly rowCount: number;
}

/** Whether memory or the page was too small, so that fewer rows may fit. */
function isTooLarge(error: unknown): boolean {
  const codes = ["query_too_large", "statement_too_large"];
  return error instanceof OperatingError && codes.includes(error.code);
}

function takeFile(file: string): Uint8Array {
  const bytes = readFileSync(file);
  rmSync(file);
  return bytes;
}

function rowTooLarge(bytesMax: number): OperatingError {
  const message = `a row of the result has more than ${Math.floor(bytesMax / 1024 ** 2)} MiB as text`;
  const hint = "Ask for less in one row, or give the coordinator more memory with --memory-limit.";
  return new OperatingError("query_too_large", "never", message, { hint });
}

function pageTooLarge(): OperatingError {
  return new OperatingError("query_too_large", "never", "a page of rows is too large");
}

/** Interrupts stay as they are. Other failures of our statement are due to the file or memory. */
function translateReadError(thrown: unknown): unknown {
  if (thrown instanceof OperatingError || isInterrupt(thrown)) return thrown;
  const error = translateDuckDbError(thrown);
  if (isTooLarge(error) || error.code === "disk_full") return error;
  const message = `the artifact cannot be read: ${withoutPaths(error.message)}`;
  return new OperatingError("artifact_corrupt", "never", message, { cause: thrown });
}
