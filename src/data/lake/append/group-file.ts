/**
 * A data file that grows by row groups: each is encoded when it is added and written behind the one
 * before it, in the staging directory. The file joins the object store when it is complete, and the
 * lake when a commit names it. Only plain column types. Rules: LA4 and LA5.
 */
import { join } from "node:path";
import { assert, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files, OpenFile } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { type ColumnSpec, ParquetEncoder, type PlainColumn } from "../../parquet/core/index.ts";
import { parquetRuntime } from "../../parquet/index.ts";
import type {
  ColumnStatistics,
  LakeColumn,
  LakeTable,
  NewDataFile,
  ObjectStore,
} from "../core/index.ts";
import { leavesOf } from "../duckdb/column-type.ts";
import { inStaging } from "../duckdb/staging.ts";
import { ColumnFacts } from "./column-facts.ts";

export interface GroupFileOptions {
  readonly table: Pick<LakeTable, "path" | "columns">;
  /** The columns that have values, by name and in this order; the others are NULL. */
  readonly columns: readonly string[];
  readonly objects: Pick<ObjectStore, "put">;
  /** An existing directory (`emptyStaging`) that nothing else uses. */
  readonly stagingDir: string;
  readonly prng: Prng;
  readonly files?: Files;
}

type PlainSpec = Pick<ColumnSpec, "integer" | "type">;

const small = (bits: 8 | 16 | 32, isSigned: boolean): PlainSpec => ({
  type: "int32",
  integer: { bits, isSigned },
});

/** The types of columns that can be written, and what they are in Parquet. */
const plainSpecs: ReadonlyMap<string, PlainSpec> = new Map([
  ["BOOLEAN", { type: "boolean" }],
  ["TINYINT", small(8, true)],
  ["SMALLINT", small(16, true)],
  ["INTEGER", { type: "int32" }],
  ["BIGINT", { type: "bigint64" }],
  ["UTINYINT", small(8, false)],
  ["USMALLINT", small(16, false)],
  ["UINTEGER", small(32, false)],
  ["UBIGINT", { type: "bigint64", integer: { bits: 64, isSigned: false } }],
  ["FLOAT", { type: "float" }],
  ["DOUBLE", { type: "double" }],
  ["VARCHAR", { type: "text" }],
]);

export class GroupFile {
  readonly #options: GroupFileOptions;
  readonly #columns: readonly LakeColumn[];
  readonly #facts: readonly ColumnFacts[];
  readonly #encoder: ParquetEncoder;
  readonly #token: string;
  readonly #localPath: string;
  #file: OpenFile | undefined;
  #written: Promise<void> = Promise.resolve();
  #recordCount = 0;
  #sizeBytes = 0;

  constructor(options: GroupFileOptions) {
    this.#options = options;
    this.#columns = options.columns.map((name) => {
      const column = options.table.columns.find((each) => each.name === name);
      assert(column !== undefined, `the table has the column ${name}`);
      return column;
    });
    this.#facts = this.#columns.map(() => new ColumnFacts());
    this.#encoder = new ParquetEncoder(this.#columns.map(specOf), parquetRuntime, { zstdLevel: 1 });
    this.#token = randomText(options.prng, 24);
    this.#localPath = join(options.stagingDir, `write-${this.#token}`);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Encodes the rows at once. Resolves when they are written; a failed write fails all others. */
  add(columns: readonly PlainColumn[]): Promise<void> {
    const pieces: Uint8Array[] = [];
    this.#encoder.encode(columns, pieces);
    for (const [at, column] of columns.entries()) this.#facts[at]?.add(column);
    this.#recordCount += columns[0]?.length ?? 0;
    return this.#append(pieces);
  }

  /** Ends the file and puts it to the object store. */
  async put(signal?: AbortSignal): Promise<NewDataFile> {
    const { objects, table } = this.#options;
    const footer = this.#encoder.end();
    await this.#append([footer]);
    await inStaging(async () => await this.#file?.close());
    this.#file = undefined;
    const path = `${table.path.replace(/\/+$/, "")}/ducklake-${this.#token}.parquet`;
    try {
      const { crc32 } = await objects.put(path, this.#localPath, signal);
      return {
        path,
        crc32,
        recordCount: this.#recordCount,
        sizeBytes: this.#sizeBytes,
        // The length of the footer and the magic number follow it.
        footerSize: footer.length - 8,
        columns: this.#statistics(),
        rowIds: "fresh",
      };
    } finally {
      await this.discard();
    }
  }

  /** Gives everything back; nothing is left in the staging directory. */
  async discard(): Promise<void> {
    const { files = realFiles } = this.#options;
    await this.#written.catch(() => undefined);
    await this.#file?.close();
    this.#file = undefined;
    await files.removeAll(this.#localPath);
  }

  #append(pieces: readonly Uint8Array[]): Promise<void> {
    const { files = realFiles } = this.#options;
    const start = this.#sizeBytes;
    this.#sizeBytes += pieces.reduce((sum, { length }) => sum + length, 0);
    const write = async (): Promise<void> => {
      this.#file ??= await files.open(this.#localPath, "new");
      let at = start;
      for (const piece of pieces) {
        await this.#file.write(piece, at);
        at += piece.length;
      }
    };
    this.#written = this.#written.then(() => inStaging(write));
    this.#written.catch(() => undefined); // Whoever puts the file is told.
    return this.#written;
  }

  /** A column that the rows do not have is NULL in all of them. */
  #statistics(): readonly ColumnStatistics[] {
    const none = { sizeBytes: 0, min: undefined, max: undefined, containsNan: undefined };
    return this.#options.table.columns.flatMap((column): readonly ColumnStatistics[] => {
      const facts = this.#facts[this.#columns.indexOf(column)];
      if (facts !== undefined) return [facts.statistics(column.columnId, column.type)];
      return leavesOf(column).map(({ fieldId: columnId }) => {
        return { columnId, ...none, valueCount: 0, nullCount: this.#recordCount };
      });
    });
  }
}

function specOf({ name, type, columnId, nullable }: LakeColumn): ColumnSpec {
  const spec = plainSpecs.get(type);
  if (spec === undefined) {
    throw new OperatingError("unsupported", "never", `${name} is ${type}, which is no plain type`);
  }
  return { name, ...spec, fieldId: columnId, ...(nullable ? { nullable: true as const } : {}) };
}
