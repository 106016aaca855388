/**
 * The consistency check of a lake that may be in use: the catalog of one moment, then every file that it names, read whole.
 * Nothing is written.
 *
 *   CK1  A file that is gone is asked about again: upkeep may have deleted it, and its rows with it, since the catalog was read.
 *   CK2  A file that cannot be read is a finding, and keeps nothing else from being looked at.
 */
import type { Engine } from "../../queries/index.ts";
import type { Store } from "../../store/index.ts";
import type { FoundFile, LakeFacts, TableFacts } from "../core/check-file-facts.ts";
import { referencedFiles } from "../core/check-files.ts";
import { checkLake } from "../core/check-lake.ts";
import { columnsOfFiles, currentVersions } from "../core/current-versions.ts";
import type { LakeRows, ObjectStore, TableVersion } from "../core/index.ts";
import { type FileReader, readFileFacts, readTableFacts } from "../duckdb/read-file-facts.ts";
import { filesOf } from "../duckdb/relation-sql.ts";
import { readLakeRows } from "../store/read-lake-rows.ts";

export interface LakeCheck {
  readonly store: Pick<Store, "read">;
  readonly objects: ObjectStore;
  readonly engine: Pick<Engine, "openSession">;
  /** Files at a time; no more than the engine has connections. */
  readonly atOnce: number;
}

export interface LakeReport {
  /** Sentences about what is wrong. */
  readonly findings: readonly string[];
  readonly tables: number;
  /** That the catalog names. */
  readonly files: number;
  /** That no snapshot needs, and that upkeep deletes in time. */
  readonly scheduled: number;
  /** That nobody knows of: being written, or left by a process that died. No fault: upkeep sees to them. */
  readonly unnamed: readonly string[];
}

export async function checkLakeFiles(check: LakeCheck, signal: AbortSignal): Promise<LakeReport> {
  const { store, objects } = check;
  const rows = await store.read(readLakeRows);
  const alone = checkLake(rows);
  const facts = await readFacts(check, rows, signal);
  const now = hasMissing(facts) ? await store.read(readLakeRows) : rows;
  const findings = checkLake(rows, { ...facts, files: stillNamed(facts.files, now) });
  const named = new Set(referencedFiles(rows).map(({ path }) => path));
  const scheduled = new Set(rows.ducklake_files_scheduled_for_deletion.map(({ path }) => path));
  const unnamed: string[] = [];
  for await (const { path } of objects.list("main/")) {
    if (!named.has(path) && !scheduled.has(path)) unnamed.push(path);
  }
  return {
    findings: findings.length > 0 ? findings : alone,
    tables: currentVersions(rows).length,
    files: named.size,
    scheduled: scheduled.size,
    unnamed,
  };
}

async function readFacts(
  check: LakeCheck,
  rows: LakeRows,
  signal: AbortSignal,
): Promise<LakeFacts> {
  const files = new Map<string, FoundFile>();
  const tables = new Map<number, TableFacts>();
  const columnsOf = columnsOfFiles(rows);
  await withReaders(check, referencedFiles(rows), signal, async (reader, file) => {
    files.set(file.path, await readFileFacts(reader, file, columnsOf(file.fileId), signal));
  });
  const isWhole = (version: TableVersion): boolean =>
    filesOf(version).every(({ path }) => /^(data|delete)$/.test(files.get(path)?.kind ?? ""));
  await withReaders(
    check,
    currentVersions(rows).filter(isWhole),
    signal,
    async (reader, version) => {
      const read = await readTableFacts(reader, version, signal);
      if (read !== undefined) tables.set(version.table.tableId, read);
    },
  );
  return { files, tables };
}

/** Each item once, by one of several connections. */
async function withReaders<Item>(
  { engine, objects, atOnce }: LakeCheck,
  items: readonly Item[],
  signal: AbortSignal,
  use: (reader: FileReader, item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const run = async (): Promise<void> => {
    const duckdb = await engine.openSession([], signal);
    try {
      for (const item of rest) await use({ duckdb, objects }, item);
    } finally {
      await duckdb.close();
    }
  };
  const lanes = Math.min(atOnce, items.length);
  const ended = await Promise.allSettled(Array.from({ length: lanes }, run));
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function hasMissing({ files }: LakeFacts): boolean {
  return [...files.values()].some(({ kind }) => kind === "missing");
}

/** CK1 */
function stillNamed(files: LakeFacts["files"], now: LakeRows): ReadonlyMap<string, FoundFile> {
  const named = new Set(referencedFiles(now).map(({ path }) => path));
  return new Map([...files].filter(([path, { kind }]) => kind !== "missing" || named.has(path)));
}
