/**
 * Writes rows to Parquet files of a table of the lake: a row group whenever enough rows are there,
 * a file at each checkpoint. The files are put to the object store when the checkpoint asks for
 * them, and become rows of the table when its completion commits them (SU42). What a run that fails
 * or is killed has put is nobody's, and swept by the lake's upkeep.
 */
import {
  GroupFile,
  type LakeColumn,
  type NewColumn,
  type ObjectStore,
} from "../../../../data/lake/index.ts";
import {
  type PlainColumn,
  plainBooleans,
  plainNumbers,
  plainTexts,
} from "../../../../data/parquet/index.ts";
import { allRows, type Batch, type Column, RowStore, viewOf } from "../../engine/core/index.ts";
import { DialectError, type Schema, type SinkOp } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";
import { columnsFor, lakeTypeOf } from "../core/lake-types.ts";
import type { PreparedFiles } from "../core/prepared-files.ts";
import type { FragmentLake } from "../lake/fragment-lake.ts";

export interface LakeWriterOptions {
  readonly op: SinkOp;
  readonly schema: Schema;
  readonly lake: FragmentLake;
}

/** DuckDB's own size of row groups, which other readers share out between threads. */
const groupRows = 122_880;
const groupBytes = 16 * 1024 * 1024;
/** About what the lake's upkeep makes of small files. */
const fileBytes = 128 * 1024 * 1024;

export async function openLakeWriter({ op, schema, lake }: LakeWriterOptions): Promise<SinkWriter> {
  const name = String(op.config.TABLE);
  const columns = schema.map(
    (field): NewColumn => ({
      name: field.name,
      type: lakeTypeOf(field.type.name),
      nullable: field.type.nullable,
      defaultValue: undefined,
    }),
  );
  const { table, snapshot } = await lake.calls.lakeSinkTable({ name, columns });
  const written = columnsFor(table, schema).map((column, at) => {
    const wanted = columns[at] as NewColumn;
    if (column?.type === wanted.type) return column;
    throw misfit(name, wanted, column);
  });
  const about = { tableId: table.tableId, table: table.name, readSnapshot: snapshot };
  const groups = new RowGroups(schema, () => {
    const names = written.map((column) => column.name);
    const { stagingDir, prng, calls } = lake;
    const put: ObjectStore["put"] = (path, localPath, signal) =>
      calls.lakePut({ path, localPath }, signal);
    return new GroupFile({ stagingDir, prng, objects: { put }, table, columns: names });
  });

  return {
    write: (batch) => groups.add(batch),
    position: () => undefined,
    get bytesWritten() {
      return groups.bytesWritten;
    },
    flush: () => Promise.resolve(),
    prepare: async () => {
      const files = groups.take();
      if (files.length === 0) return undefined;
      const putAtMs = lake.clock.wallMs();
      const prepared: PreparedFiles = {
        ...about,
        columns: written.map(({ columnId, name: own, type }) => ({ columnId, name: own, type })),
        files: await Promise.all(files.map((file) => file.put())),
        putAtMs,
      };
      return JSON.stringify(prepared);
    },
    end: () => Promise.resolve(),
    close: async () => {
      await Promise.all(groups.take().map((file) => file.discard()));
    },
  };
}

/** Rows on their way into files. */
class RowGroups {
  readonly #schema: Schema;
  readonly #create: () => GroupFile;
  #rows: RowStore;
  #file: GroupFile | undefined;
  #full: GroupFile[] = [];
  /** The bytes of the files that were taken. */
  #takenBytes = 0;

  constructor(schema: Schema, create: () => GroupFile) {
    this.#schema = schema;
    this.#create = create;
    this.#rows = this.#newRows();
  }

  add({ columns, rowCount, selection }: Batch): Promise<void> | undefined {
    this.#rows.append(columns.map(viewOf), selection ?? allRows(rowCount));
    if (this.#rows.rowCount < groupRows && this.#rows.bytes < groupBytes) return undefined;
    return this.#write();
  }

  /** Rows that are in no file yet do not count. */
  get bytesWritten(): number {
    return this.#files.reduce((sum, { sizeBytes }) => sum + sizeBytes, this.#takenBytes);
  }

  get #files(): readonly GroupFile[] {
    return [...this.#full, ...(this.#file === undefined ? [] : [this.#file])];
  }

  /** All rows so far, in files that are complete but for their end. */
  take(): readonly GroupFile[] {
    if (this.#rows.rowCount > 0) void this.#write()?.catch(() => undefined); // `put` fails, too.
    const files = this.#files;
    this.#takenBytes = this.bytesWritten;
    this.#full = [];
    this.#file = undefined;
    return files;
  }

  #write(): Promise<void> | undefined {
    const rows = this.#rows;
    this.#rows = this.#newRows();
    this.#file ??= this.#create();
    const written = this.#file.add(rows.columns(0, rows.rowCount).map(plainOf));
    if (this.#file.sizeBytes >= fileBytes) {
      this.#full.push(this.#file);
      this.#file = undefined;
    }
    return written;
  }

  #newRows(): RowStore {
    return new RowStore(this.#schema.map(({ type }) => type));
  }
}

function plainOf(column: Column): PlainColumn {
  const { validity } = column;
  if (column.kind === "text") return plainTexts(column.offsets, column.bytes, validity);
  const { type, values } = column;
  if (type === "BOOLEAN") return plainBooleans(values as Uint8Array, validity);
  if (type !== "CHAR") return plainNumbers(values, validity);
  const offsets = Int32Array.from({ length: values.length + 1 }, (_, at) => at);
  return plainTexts(offsets, values as Uint8Array, validity);
}

function misfit(table: string, wanted: NewColumn, found: LakeColumn | undefined): DialectError {
  const message =
    found === undefined
      ? `the table ${table} has no column ${wanted.name}`
      : `${found.name} is ${found.type} in the table ${table}, the rows have ${wanted.type}`;
  return new DialectError(4004, message);
}
