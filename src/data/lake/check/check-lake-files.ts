/**
 * The consistency check of a lake that may be in use. Reads the catalog at one moment, then every
 * file that it names, whole. Writes nothing. An unreadable file is a finding and does not stop the
 * check. Rules: LK40 and LK41.
 */

import type { Store } from "../../../ground/store/index.ts";
import type { Engine } from "../../duckdb/index.ts";
import type { FoundFile, LakeFacts, TableFacts } from "../core/check-file-facts.ts";
import { referencedFiles } from "../core/check-files.ts";
import { checkLake } from "../core/check-lake.ts";
import { columnsOfFiles, currentVersions } from "../core/current-versions.ts";
import type { LakeRows, ObjectStore, TableVersion } from "../core/index.ts";
import { type FileReader, readFileFacts, readTableFacts } from "../duckdb/read-file-facts.ts";
import { filesOf } from "../duckdb/relation-sql.ts";
import { readChecksummedFiles } from "../store/file-checksums.ts";
import { readLakeOverview } from "../store/overview.ts";
import { readLakeRows } from "../store/read-lake-rows.ts";

export interface LakeCheck {
  readonly store: Pick<Store, "read">;
  readonly objects: ObjectStore;
  readonly engine: Pick<Engine, "withSession">;
  /** The number of files read at a time; at most the engine's connections. */
  readonly atOnce: number;
}

export interface LakeReport {
  /** One sentence for each problem. */
  readonly findings: readonly string[];
  readonly tables: number;
  /** Files that the catalog names. */
  readonly files: number;
  /** Files that no snapshot needs, which upkeep will delete. */
  readonly scheduled: number;
  /** Files unknown to the catalog: being written, or left by a crash. Upkeep deletes them. */
  readonly unnamed: readonly string[];
  /** Files without a checksum yet: old ones, and another writer's. Upkeep adds it. */
  readonly unverified: number;
}

export async function checkLakeFiles(check: LakeCheck, signal: AbortSignal): Promise<LakeReport> {
  const { store, objects } = check;
  const { rows, overview, checksummed } = await store.read(async (tx) => ({
    rows: await readLakeRows(tx),
    overview: await readLakeOverview(tx),
    checksummed: (await readChecksummedFiles(tx)).files,
  }));
  const checksums = new Map(checksummed.map(({ fileId, crc32 }) => [fileId, crc32]));
  const alone = checkLake(rows);
  const shown = new Map(overview.tables.map((table) => [table.tableId as number, table]));
  const facts = { ...(await readFacts(check, rows, checksums, signal)), shown };
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
    unverified: checksummed.filter(({ crc32 }) => crc32 === undefined).length,
  };
}

async function readFacts(
  check: LakeCheck,
  rows: LakeRows,
  checksums: ReadonlyMap<number, number | undefined>,
  signal: AbortSignal,
): Promise<LakeFacts> {
  const files = new Map<string, FoundFile>();
  const tables = new Map<number, TableFacts>();
  const columnsOf = columnsOfFiles(rows);
  await withReaders(check, referencedFiles(rows), signal, async (reader, file) => {
    const crc32 = checksums.get(file.fileId);
    const checked = { ...file, ...(crc32 === undefined ? {} : { crc32 }) };
    files.set(file.path, await readFileFacts(reader, checked, columnsOf(file.fileId), signal));
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

/** Uses each item once, on one of several connections. */
async function withReaders<Item>(
  { engine, objects, atOnce }: LakeCheck,
  items: readonly Item[],
  signal: AbortSignal,
  use: (reader: FileReader, item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const run = async (): Promise<void> => {
    // One session per item: losing an engine costs the work of one item.
    for (const item of rest) {
      await engine.withSession([], signal, (duckdb) => use({ duckdb, objects }, item));
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

/** Drops missing files that upkeep deleted, with their rows, since the catalog was read. */
function stillNamed(files: LakeFacts["files"], now: LakeRows): ReadonlyMap<string, FoundFile> {
  const named = new Set(referencedFiles(now).map(({ path }) => path));
  return new Map([...files].filter(([path, { kind }]) => kind !== "missing" || named.has(path)));
}
