/**
 * Executes work of kind `lake_write` as `src/data/lake/statements` does, but for DuckDB: inserts,
 * changes and compactions of numbers.
 */

import type {
  DataFile,
  FileId,
  LakeTable,
  NewDataFile,
  NewDeleteFile,
} from "../../src/data/lake/index.ts";
import type { LakeWrite, LakeWritten } from "../../src/data/lake/statements/lake-write.ts";
import { lakeWriteAnswer } from "../../src/data/lake/statements/lake-write-executor.ts";
import { sleep } from "../../src/ground/kernel/clock.ts";
import { assert, OperatingError } from "../../src/ground/kernel/errors.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Executor, WorkSpec } from "../../src/ground/work/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { ExecutionProbe } from "../world/sim-executor.ts";
import {
  describeData,
  describeDeletes,
  type LakeFile,
  liveRows,
  type PlacedRow,
  pathsOf,
  positionsOf,
  type ReadFile,
} from "./lake-files.ts";
import type { ObjectLink } from "./sim-objects.ts";

/** In the place of SQL: which rows change, and what they become. */
export interface RowChoice {
  /** Rows whose id leaves `rest` over. */
  readonly divisor: number;
  readonly rest: number;
  /** New values, in turn; none: the rows are deleted. */
  readonly values: readonly number[];
}

export interface SimLakeWriterDeps {
  readonly life: Life;
  readonly objects: ObjectLink;
  readonly prng: Prng;
  readonly probe: ExecutionProbe;
  readonly merge: (rows: readonly PlacedRow[]) => readonly PlacedRow[];
}

export class SimLakeWriter implements Executor {
  readonly #deps: SimLakeWriterDeps;

  constructor(deps: SimLakeWriterDeps) {
    this.#deps = deps;
  }

  async execute(work: WorkSpec, _path: string, signal: AbortSignal): Promise<Uint8Array> {
    const { life, probe, prng } = this.#deps;
    const runMs = prng.next() < 0.95 ? 5 + prng.next() * 200 : prng.next() * 6_000;
    probe.executionStarted(life, work, runMs);
    const paths: string[] = [];
    try {
      const written = await this.#write(JSON.parse(work.body) as LakeWrite, runMs, signal, paths);
      return lakeWriteAnswer(written);
    } catch (thrown) {
      if (paths.length > 0) await this.#deps.objects.delete(paths).catch(() => undefined);
      throw thrown;
    } finally {
      probe.executionEnded(life, work);
    }
  }

  async #write(
    write: LakeWrite,
    runMs: number,
    signal: AbortSignal,
    paths: string[],
  ): Promise<LakeWritten> {
    const { life, objects } = this.#deps;
    const put = async (table: Pick<LakeTable, "path">, file: LakeFile): Promise<string> => {
      const path = objects.newPath(table);
      paths.push(path);
      await objects.write(path, file);
      throwIfAborted(signal);
      return path;
    };
    await sleep(life, runMs, signal);
    throwIfAborted(signal);
    if (write.op === "insert") {
      const values = JSON.parse(write.query.sql) as number[];
      const file = { kind: "data", values, rowIds: undefined, snapshots: undefined } as const;
      const added = [describeData(await put(write.table, file), write.table, file)];
      return { added, deletes: [], ended: [], insertedCount: values.length, deletedCount: 0 };
    }
    assert(write.op !== "copy", "nobody copies here");
    const version = write.op === "compact" ? write.version : write.query.tables[0]?.version;
    assert(version !== undefined, "what changes has a version");
    const chosen =
      write.op === "compact"
        ? version.files.filter(({ fileId }) => write.files.includes(fileId))
        : version.files;
    const files = await objects.fetchAll(pathsOf([{ ...version, files: chosen }]));
    const read: ReadFile = (path) => files.get(path) as LakeFile;
    return write.op === "compact"
      ? await this.#compact(version.table, chosen, read, put)
      : await change(version.table, chosen, JSON.parse(write.query.sql) as RowChoice, read, put);
  }

  async #compact(
    table: LakeTable,
    files: readonly DataFile[],
    read: ReadFile,
    put: (table: LakeTable, file: LakeFile) => Promise<string>,
  ): Promise<LakeWritten> {
    const isMerge = files.every(({ deletes }) => deletes === undefined);
    const nothing = { added: [], deletes: [], ended: [], insertedCount: 0, deletedCount: 0 };
    if (isMerge && files.length < 2) return nothing;
    const rows = this.#deps.merge(files.flatMap((file) => liveRows(file, read)));
    const file = {
      kind: "data",
      values: rows.map(({ value }) => value),
      rowIds: rows.map(({ rowId }) => rowId),
      snapshots: isMerge ? rows.map(({ snapshot }) => snapshot) : undefined,
    } as const;
    const added = rows.length === 0 ? [] : [describeData(await put(table, file), table, file)];
    return { ...nothing, added, ended: files.map(({ fileId }) => fileId) };
  }
}

/** UPDATE and DELETE. Rows that are updated keep their ids. */
async function change(
  table: LakeTable,
  files: readonly DataFile[],
  { divisor, rest, values }: RowChoice,
  read: ReadFile,
  put: (table: LakeTable, file: LakeFile) => Promise<string>,
): Promise<LakeWritten> {
  const deletes: NewDeleteFile[] = [];
  const ended: FileId[] = [];
  const changed: PlacedRow[] = [];
  for (const file of files) {
    const own = liveRows(file, read).filter(({ rowId }) => rowId % divisor === rest);
    if (own.length === 0) continue;
    changed.push(...own);
    const before = positionsOf(file.deletes, read);
    const positions = [...before, ...own.map(({ position }) => position)].sort((a, b) => a - b);
    if (positions.length === file.recordCount) {
      ended.push(file.fileId);
      continue;
    }
    const content = { kind: "delete", positions } as const;
    deletes.push(describeDeletes(await put(table, content), file.fileId, content));
  }
  const updated = changed.slice(0, values.length);
  const added: NewDataFile[] = [];
  if (updated.length > 0) {
    const file = {
      kind: "data",
      values: values.slice(0, updated.length),
      rowIds: updated.map(({ rowId }) => rowId),
      snapshots: undefined,
    } as const;
    added.push(describeData(await put(table, file), table, file));
  }
  const counts = { insertedCount: updated.length, deletedCount: changed.length };
  return { added, deletes, ended, ...counts };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new OperatingError("cancelled", "never", "interrupted");
}
