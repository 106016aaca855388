/**
 * Rows of an artifact of kind `sql`, page by page, as NDJSON. In the engine's thread.
 *
 * Each page is a statement of its own, so a reader that nobody pulls holds neither a connection nor memory. DuckDB makes
 * the text of the rows. The first page is small and comes as a result, which is the quickest way to the first row; the
 * others are written to a file of a few megabytes and read back as bytes, because every row that crosses into JavaScript
 * by itself costs more than making it did.
 */

import { readFileSync, rmSync, statSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import { quoteText } from "../../sql/core/index.ts";
import { withoutPaths } from "../core/index.ts";
import { type ArtifactColumn, columnName, parseArtifactColumns } from "./artifact-columns.ts";
import type { ColumnShape } from "./column-shape.ts";
import { isInterrupt, translateDuckDbError } from "./duckdb-error.ts";
import type { RowPage } from "./engine-messages.ts";
import { jsonText, rowText } from "./json-text.ts";
import { limitFileSize } from "./limit-file-size.ts";
import { type Lane, onlyText } from "./statement-pool.ts";

const firstPageRowsMax = 1_024;
/** Of these the file's size says nothing: a list can repeat one value of the file for ever. */
const firstPageRowsOfLists = 16;
/** How much smaller than its distinct values a Parquet file can be: Snappy takes 3 bytes for 64 at best. */
const compressionMax = 24;
const fixedWidthBytesMax = 64;
const pageRowsMax = 1_000_000;
const pageBytesWanted = 4 * 1024 * 1024;
/** Rows may turn out larger than those before them; a page of this size is given up for one of fewer rows. */
const pageBytesMax = 64 * 1024 * 1024;
const growthMax = 64;
const shrinkBy = 8;
/** Lines as they are: one column, nothing quoted. */
const linesFormat = `FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'`;

export class ArtifactReader {
  readonly columns: readonly ArtifactColumn[];
  readonly #path: string;
  readonly #pagePath: string;
  readonly #clock: Clock;
  readonly #line: string;
  #nextRow = 0;
  #pageRows: number;

  private constructor(
    path: string,
    pagePath: string,
    columns: readonly ArtifactColumn[],
    clock: Clock,
  ) {
    this.#pageRows = firstPageRowsOf(columns, path);
    this.#path = path;
    this.#pagePath = pagePath;
    this.columns = columns;
    this.#clock = clock;
    this.#line = rowText(columns.map(({ shape }, index) => jsonText(shape, columnName(index))));
  }

  /** `pagePath` is a file of its own. Throws `artifact_corrupt` when the file is no artifact of kind `sql`. */
  static async open(
    { readColumns }: Lane,
    path: string,
    pagePath: string,
    clock: Clock,
  ): Promise<ArtifactReader> {
    try {
      readColumns.bindVarchar(1, path);
      const columns = parseArtifactColumns(onlyText(await readColumns.run()));
      return new ArtifactReader(path, pagePath, columns, clock);
    } catch (thrown) {
      throw translateReadError(thrown);
    }
  }

  /** Must not be called again before it has settled, nor after the last page. */
  async nextPage(lane: Lane): Promise<RowPage> {
    for (;;) {
      try {
        const wantedRows = this.#pageRows;
        const isFirst = this.#nextRow === 0;
        const page = isFirst ? await this.#firstPage(lane) : await this.#laterPage(lane);
        this.#nextRow += page.rowCount;
        this.#resize(page.bytes.length, page.rowCount);
        return { bytes: page.bytes, last: page.rowCount < wantedRows };
      } catch (thrown) {
        const error = translateReadError(thrown);
        const isTooLarge = error instanceof OperatingError && error.code === "query_too_large";
        if (!isTooLarge || this.#pageRows === 1) throw error;
        this.#pageRows = Math.max(1, Math.floor(this.#pageRows / shrinkBy));
      }
    }
  }

  async #firstPage({ connection }: Lane): Promise<Lines> {
    const reader = await connection.runAndReadAll(this.#select());
    const lines = reader.getColumns()[0] ?? [];
    const text = lines.length === 0 ? "" : `${lines.join("\n")}\n`;
    return { bytes: new TextEncoder().encode(text), rowCount: lines.length };
  }

  async #laterPage({ connection }: Lane): Promise<Lines> {
    const bytesMax = this.#pageRows === 1 ? Number.MAX_SAFE_INTEGER : pageBytesMax;
    const limit = limitFileSize(this.#pagePath, bytesMax, this.#clock, () =>
      connection.interrupt(),
    );
    const to = `TO ${quoteText(this.#pagePath)} (${linesFormat})`;
    try {
      const result = await connection.run(`COPY (${this.#select()}) ${to}`);
      return { bytes: bytesOf(readFileSync(this.#pagePath)), rowCount: result.rowsChanged };
    } catch (thrown) {
      if (limit.exceeded() && isInterrupt(thrown)) throw pageTooLarge();
      throw thrown;
    } finally {
      limit.stop();
      rmSync(this.#pagePath, { force: true });
    }
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

/** So many that the page stays within its bounds whatever they contain; all of most small results. */
function firstPageRowsOf(columns: readonly ArtifactColumn[], path: string): number {
  const isBounded = columns.every(({ shape }) => boundedShapes.has(shape));
  const hasLists = columns.some(({ shape }) => typeof shape === "object");
  // No value is larger than all values of the file together.
  const rowBytesMax = isBounded
    ? columns.length * fixedWidthBytesMax
    : statSync(path).size * compressionMax;
  const rowsMax = hasLists ? firstPageRowsOfLists : firstPageRowsMax;
  return Math.max(1, Math.min(rowsMax, Math.floor(pageBytesMax / rowBytesMax)));
}

interface Lines {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly rowCount: number;
}

/** With a buffer of its own, which can be handed to another thread. */
function bytesOf(file: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const isWhole = file.byteOffset === 0 && file.byteLength === file.buffer.byteLength;
  return isWhole ? new Uint8Array(file.buffer) : new Uint8Array(file);
}

function pageTooLarge(): OperatingError {
  return new OperatingError("query_too_large", "never", "a page of rows is too large");
}

/** An interrupt stays as it is. What else goes wrong with our own statement is the file's fault, or memory's. */
function translateReadError(thrown: unknown): unknown {
  if (thrown instanceof OperatingError || isInterrupt(thrown)) return thrown;
  const error = translateDuckDbError(thrown);
  if (error.code === "query_too_large" || error.code === "disk_full") return error;
  const message = `the artifact cannot be read: ${withoutPaths(error.message)}`;
  return new OperatingError("artifact_corrupt", "never", message, { cause: thrown });
}
