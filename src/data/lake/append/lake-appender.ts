/** Appends rows to one table from columns in memory, and creates the table. Rules: LA1 to LA3. */

import { join } from "node:path";
import { backoffMs } from "../../../ground/kernel/backoff.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { type Prng, randomText } from "../../../ground/kernel/prng.ts";
import { parquetRuntime } from "../../parquet/index.ts";
import type {
  LakeCatalog,
  LakeTable,
  NewColumn,
  NewDataFile,
  ObjectStore,
  PutFile,
} from "../core/index.ts";
import { inStaging, withStaging } from "../duckdb/staging.ts";
import { type ColumnsOfRows, encodeColumnFile } from "./column-file.ts";
import { type FoundTable, findOrCreateTable } from "./find-table.ts";

export interface LakeAppenderOptions {
  readonly files?: Files;
  readonly catalog: Pick<LakeCatalog, "commit" | "current" | "tables">;
  readonly objects: ObjectStore;
  /** An existing directory (`emptyStaging`) that nothing else uses. */
  readonly stagingDir: string;
  readonly table: { readonly name: string; readonly columns: readonly NewColumn[] };
  readonly author: string;
  readonly prng: Prng;
  readonly clock: Clock;
}

const pause = { minMs: 100, maxMs: 5_000 };

export class LakeAppender {
  readonly #options: LakeAppenderOptions;

  constructor(options: LakeAppenderOptions) {
    this.#options = options;
  }

  /** Rejects on a permanent error, or with the last error once `signal` has aborted. */
  async append(rows: ColumnsOfRows, token: string, signal: AbortSignal): Promise<void> {
    let written: { readonly found: FoundTable; readonly file: NewDataFile } | undefined;
    const { clock, prng } = this.#options;
    let isUnknown = false;
    for (let failures = 1; ; failures += 1) {
      try {
        if (written === undefined) {
          const found = await this.#find();
          written = { found, file: await this.#write(found.table, rows, signal) };
        }
        await this.#commit(written.found, written.file, token);
        return;
      } catch (thrown) {
        const code = thrown instanceof OperatingError ? thrown.code : undefined;
        isUnknown ||= code === "commit_unknown";
        const isLasting =
          code !== "commit_unknown" &&
          !(thrown instanceof OperatingError && thrown.retry === "backoff");
        if ((isLasting || code === "conflict") && written !== undefined && !isUnknown) {
          await this.#options.objects.delete([written.file.path]).catch(() => undefined);
          written = undefined;
        }
        if (isLasting || signal.aborted) throw thrown;
        await sleep(clock, backoffMs(pause, failures, prng.next()), signal);
      }
    }
  }

  async #find(): Promise<FoundTable> {
    const { table, author } = this.#options;
    const found = await findOrCreateTable(this.#options, table, author);
    return { ...found, table: this.#checked(found.table) };
  }

  #checked(found: LakeTable): LakeTable {
    const { table } = this.#options;
    const unlike = table.columns.find(
      ({ name, type }) => !found.columns.some((own) => own.name === name && own.type === type),
    );
    if (unlike === undefined) return found;
    const message = `table ${table.name} has no column ${unlike.name} of type ${unlike.type}: it is somebody else's`;
    throw new OperatingError("already_exists", "never", message, {
      hint: `Rename it: ALTER TABLE ${table.name} RENAME TO …`,
    });
  }

  async #write(table: LakeTable, rows: ColumnsOfRows, signal: AbortSignal): Promise<NewDataFile> {
    const { objects, stagingDir, prng, files = realFiles } = this.#options;
    const own = randomText(prng, 24);
    const { bytes, footerSize, recordCount, columns } = encodeColumnFile(
      table.columns,
      rows,
      parquetRuntime,
    );
    const path = `${table.path.replace(/\/+$/, "")}/ducklake-${own}.parquet`;
    const write = async (directory: string): Promise<PutFile> => {
      const localPath = join(directory, "rows.parquet");
      await inStaging(() => writeWhole(files, localPath, bytes));
      return await objects.put(path, localPath, signal);
    };
    const { crc32 } = await withStaging(stagingDir, own, write, files);
    return {
      path,
      crc32,
      recordCount,
      sizeBytes: bytes.length,
      footerSize,
      columns,
      rowIds: "fresh",
    };
  }

  async #commit({ table, snapshot }: FoundTable, file: NewDataFile, token: string): Promise<void> {
    const { catalog, author } = this.#options;
    await catalog.commit({
      readSnapshot: snapshot,
      token,
      changes: [
        {
          kind: "changeRows",
          tableId: table.tableId,
          added: [file],
          deletes: [],
          ended: [],
          isCompaction: false,
        },
      ],
      author,
      message: `add rows to ${table.name}`,
    });
  }
}

/** Not synced: the object store syncs the file. */
async function writeWhole(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.open(path, "new");
  try {
    await file.write(bytes, 0);
  } finally {
    await file.close();
  }
}
