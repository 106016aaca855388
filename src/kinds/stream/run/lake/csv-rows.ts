/**
 * Rows that DuckDB wrote to a file of its spool, in the columns of the engine. The file is CSV,
 * with texts in quotes and NULL as nothing, so that the engine's own parser reads it and the file
 * may be of any size.
 */
import { type FileHandle, open, unlink } from "node:fs/promises";
import { AssertionError } from "../../../../ground/kernel/errors.ts";
import {
  allRows,
  createRecordParser,
  type RecordParser,
  RowStore,
  viewOf,
} from "../../engine/core/index.ts";
import type { Schema } from "../../language/core/index.ts";
import type { SpooledFile } from "./fragment-lake.ts";

const blockBytes = 256 * 1024;

export async function openCsvRows({ path }: SpooledFile, schema: Schema): Promise<CsvRows> {
  try {
    return new CsvRows(path, await open(path, "r"), schema);
  } catch (thrown) {
    await unlink(path).catch(() => undefined);
    throw thrown;
  }
}

export class CsvRows {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #schema: Schema;
  readonly #parser: RecordParser;
  readonly #block = new Uint8Array(blockBytes);
  #rows: RowStore;
  #isAtEnd = false;
  #isClosed = false;

  constructor(path: string, file: FileHandle, schema: Schema) {
    this.#path = path;
    this.#file = file;
    this.#schema = schema;
    this.#rows = this.#createRows();
    const never = (): never => {
      throw new AssertionError("what DuckDB wrote can be read");
    };
    this.#parser = createRecordParser(
      {
        kind: "source",
        name: "lake",
        type: "Lake",
        config: {},
        parser: { TYPE: "CSV", ON_MALFORMED: "fail", RECORD_BYTES_MAX: 2 ** 30 },
        record: schema,
        columns: schema.map((_, index) => index),
        ingestionTime: false,
      },
      {
        emit: ({ columns, rowCount, selection }) =>
          this.#rows.append(columns.map(viewOf), selection ?? allRows(rowCount)),
        malformed: { skipped: never, nulled: never },
      },
    );
  }

  /** The next rows, at least one; `undefined` behind the last one. */
  async next(): Promise<RowStore | undefined> {
    while (!this.#isAtEnd && this.#rows.rowCount === 0) {
      const { bytesRead } = await this.#file.read(this.#block, 0, blockBytes);
      if (bytesRead > 0) this.#parser.push(this.#block.subarray(0, bytesRead));
      else {
        this.#parser.end();
        this.#isAtEnd = true;
      }
      this.#parser.flush();
    }
    const rows = this.#rows;
    this.#rows = this.#createRows();
    return rows.rowCount === 0 ? undefined : rows;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file.close();
    await unlink(this.#path).catch(() => undefined);
  }

  #createRows(): RowStore {
    return new RowStore(this.#schema.map(({ type }) => type));
  }
}
