/**
 * Executes work of kind `lake_write` on a worker: writes rows to the lake's files in the object
 * store, and answers with a JSON description of them.
 */
import { AssertionError, assert } from "../../../ground/kernel/errors.ts";
import type { LogFields } from "../../../ground/kernel/logger.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import { workLogFields } from "../../../ground/work/core/index.ts";
import type { Executor } from "../../../ground/work/index.ts";
import type { Engine, EngineFor, EngineSession } from "../../duckdb/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { compactFiles } from "../duckdb/compact.ts";
import { LakeWriter } from "../duckdb/lake-writer.ts";
import { withFiles, withLocalFiles } from "../duckdb/local-files.ts";
import { tableSql } from "../duckdb/relation-sql.ts";
import { copyInto } from "./copy-into.ts";
import {
  insertSql,
  type LakeChange,
  type LakeCompaction,
  type LakeCopy,
  type LakeInsert,
  type LakeWrite,
  type LakeWritten,
} from "./lake-write.ts";

export const lakeWriteWorkKind = "lake_write";

export function lakeWriteBody(write: LakeWrite): string {
  return JSON.stringify(write);
}

export function lakeWriteAnswer(written: LakeWritten): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(written));
}

export interface LakeWriteDeps {
  readonly engine: EngineFor<"parse" | "withSession">;
  readonly objects: ObjectStore;
  readonly stagingDir: string;
  readonly prng: Prng;
}

export function createLakeWriteExecutor(deps: LakeWriteDeps): Executor {
  return {
    async execute(work, _path, signal) {
      const write = JSON.parse(work.body) as LakeWrite; // `lakeWriteBody`
      const fields = workLogFields(work);
      const parts = { ...deps, engine: deps.engine.with(fields), fields };
      const written = await run(parts, write, signal);
      return lakeWriteAnswer(written);
    },
  };
}

interface WriteParts extends Omit<LakeWriteDeps, "engine"> {
  readonly engine: Pick<Engine, "parse" | "withSession">;
  /** Whose work it is, for log lines. */
  readonly fields: LogFields;
}

async function run(deps: WriteParts, write: LakeWrite, signal: AbortSignal): Promise<LakeWritten> {
  if (write.op === "copy") return await copy(deps, write, signal);
  if (write.op === "compact") return await compact(deps, write, signal);
  const { sql, tables } = write.query;
  await deps.engine.parse(sql, signal); // Only a permitted SELECT becomes part of our statements.
  const changed = write.op === "insert" ? undefined : tables[0];
  const versions = tables.map(({ version }) => version);
  const within = async (localPaths: ReadonlyMap<string, string>): Promise<LakeWritten> => {
    const relations = tables.map((table) => ({
      schema: table.schema,
      name: table.name,
      sql: tableSql(table.version, { rowIds: table === changed, localPaths }),
    }));
    return await deps.engine.withSession(relations, signal, async (session) => {
      const { objects, stagingDir, prng } = deps;
      const writer = new LakeWriter({ duckdb: session, objects, stagingDir, prng });
      return write.op === "insert"
        ? await insert(writer, write, signal)
        : await change({ writer, objects, session, localPaths }, write, signal);
    });
  };
  return await withFiles(deps.objects, versions, signal, within, deps.fields);
}

async function copy(
  { engine, objects, stagingDir, prng, fields }: WriteParts,
  write: LakeCopy,
  signal: AbortSignal,
): Promise<LakeWritten> {
  const source = { ...write.source, owner: "the file to copy", fields };
  return await withLocalFiles(objects, [source], signal, async (localPaths) => {
    const localPath = localPaths.get(source.path);
    assert(localPath !== undefined, "what was fetched is here");
    return await engine.withSession([], signal, async (session) => {
      const linesLeftOut = await copyInto(session, "_copied", write, localPath, signal);
      const writer = new LakeWriter({ duckdb: session, objects, stagingDir, prng });
      const select = "SELECT * FROM _copied";
      const added = await writer.writeRows({ select, table: write.table, rowIds: "fresh" }, signal);
      const insertedCount = added.reduce((sum, { recordCount }) => sum + recordCount, 0);
      const rows = { insertedCount, deletedCount: 0, linesLeftOut };
      return { added, deletes: [], ended: [], ...rows };
    });
  });
}

async function compact(
  { engine, objects, stagingDir, prng, fields }: WriteParts,
  { version, files }: LakeCompaction,
  signal: AbortSignal,
): Promise<LakeWritten> {
  return await engine.withSession([], signal, async (session) => {
    const writer = new LakeWriter({ duckdb: session, objects, stagingDir, prng });
    const change = await compactFiles({ version, files }, { writer, objects, fields }, signal);
    const { added, ended } = change?.kind === "changeRows" ? change : { added: [], ended: [] };
    return { added, deletes: [], ended, insertedCount: 0, deletedCount: 0 };
  });
}

async function insert(
  writer: LakeWriter,
  write: LakeInsert,
  signal: AbortSignal,
): Promise<LakeWritten> {
  const { table } = write;
  const added = await writer.writeRows(
    { select: insertSql(write), table, rowIds: "fresh" },
    signal,
  );
  const insertedCount = added.reduce((sum, { recordCount }) => sum + recordCount, 0);
  return { added, deletes: [], ended: [], insertedCount, deletedCount: 0 };
}

interface ChangeParts {
  readonly writer: LakeWriter;
  readonly objects: ObjectStore;
  readonly session: EngineSession;
  readonly localPaths: ReadonlyMap<string, string>;
}

/** The user's SELECT runs once, however often its result is read. */
async function change(
  { writer, objects, session, localPaths }: ChangeParts,
  { op, query }: LakeChange,
  signal: AbortSignal,
): Promise<LakeWritten> {
  const [target] = query.tables;
  if (target === undefined) throw new AssertionError("a change has a table that changes");
  const { version } = target;
  await session.run(`CREATE TEMP TABLE _changed AS ${query.sql}`, signal);
  const { moved, ...deleted } = await writer.writeDeletes(
    { version, localPaths, select: "SELECT _file_id, _position FROM _changed" },
    signal,
  );
  if (op === "delete") return { added: moved, ...deleted, insertedCount: 0 };
  const rows = {
    select: "SELECT * EXCLUDE (_file_id, _position) FROM _changed",
    table: version.table,
    rowIds: "inFile",
  } as const;
  const added = await writer.writeRows(rows, signal).catch(async (thrown: unknown) => {
    const paths = [...moved, ...deleted.deletes].map(({ path }) => path);
    await objects.delete(paths).catch(() => undefined); // Upkeep deletes what remains.
    throw thrown;
  });
  const insertedCount = added.reduce((sum, { recordCount }) => sum + recordCount, 0);
  return { added: [...moved, ...added], ...deleted, insertedCount };
}
