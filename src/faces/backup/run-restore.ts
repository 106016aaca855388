/**
 * Restores a backup to an empty target. Files come first and the store last, with all rows in one
 * transaction, so that a failed restore leaves no store to start with. Rules: BU2, BU3, BU5.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { LakeLocation, ObjectStore } from "../../data/lake/index.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import {
  openStore,
  readMigrations,
  type StoreConfig,
  setupStore,
} from "../../ground/store/index.ts";
import { checksumFile } from "../../ground/threads/index.ts";
import { copyVerified } from "./copy-file.ts";
import { type BackupFile, damagedBackup, type Manifest, readManifest } from "./manifest.ts";
import { loadStore } from "./store-dump.ts";

export interface RestoreTarget {
  readonly store: StoreConfig;
  readonly lake: LakeLocation;
  readonly objects: ObjectStore;
  readonly metricsDir: string;
}

export interface RestoreDone {
  readonly files: number;
  readonly bytes: number;
  readonly rows: number;
  readonly createdAt: string;
}

export async function runRestore(
  backup: string,
  target: RestoreTarget,
  files: Files,
  signal: AbortSignal,
): Promise<RestoreDone> {
  const directory = resolve(backup);
  const manifest = await readManifest(files, directory);
  const newest = readMigrations().length;
  if (manifest.schemaVersion > newest) {
    const message = `the backup is of schema version ${manifest.schemaVersion}, this version of Capstan knows up to ${newest}`;
    throw new OperatingError("schema_newer", "never", message, {
      hint: `Use Capstan ${manifest.version} or a newer one.`,
    });
  }
  await verify(files, directory, manifest, signal); // BU3
  await requireEmpty(target, files); // BU3
  for (const file of manifest.files) {
    signal.throwIfAborted();
    await restoreFile(file, directory, target, files, signal);
  }
  const rows = await restoreStore(target.store, directory, manifest, files); // After the files.
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  return { files: manifest.files.length, bytes, rows, createdAt: manifest.createdAt };
}

async function verify(
  files: Files,
  directory: string,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<void> {
  for (const { path, bytes, crc32 } of manifest.files) {
    signal.throwIfAborted();
    if (path.startsWith("/") || path.split("/").includes("..")) throw damagedBackup(path);
    const found = await files.stat(join(directory, path));
    const isSame = found?.bytes === bytes && (await checksumFile(join(directory, path))) === crc32;
    if (!isSame) throw damagedBackup(path);
  }
}

async function requireEmpty(target: RestoreTarget, files: Files): Promise<void> {
  const { store, objects, lake, metricsDir } = target;
  if (store.kind === "sqlite" && existsSync(store.path)) throw inTheWay(store.path);
  if (store.kind === "postgres") await requireNoSchema(store);
  for (const prefix of ["main/", "lake-id"]) {
    for await (const { path } of objects.list(prefix)) {
      throw inTheWay(lake.kind === "directory" ? join(lake.root, path) : path);
    }
  }
  for (const name of ["segments", "wal"]) {
    const entries = await files.list(join(metricsDir, name)).catch(() => []);
    if (entries.some((entry) => entry.name !== "lock")) throw inTheWay(join(metricsDir, name));
  }
}

async function requireNoSchema(store: StoreConfig): Promise<void> {
  try {
    await (await openStore(store)).close();
  } catch (thrown) {
    if (thrown instanceof OperatingError && thrown.code === "schema_absent") return;
    if (!(thrown instanceof OperatingError) || !/^schema_/.test(thrown.code)) throw thrown;
  }
  throw inTheWay("the Postgres database");
}

function inTheWay(what: string): OperatingError {
  return new OperatingError("already_exists", "never", `${what} is not empty`, {
    hint: "A restore overwrites nothing: name a new place with --data-dir, --store, --lake and --metrics-dir.",
  });
}

async function restoreFile(
  { path, crc32 }: BackupFile,
  directory: string,
  { lake, objects, metricsDir }: RestoreTarget,
  files: Files,
  signal: AbortSignal,
): Promise<void> {
  const from = join(directory, path);
  const [, area = "", rest = ""] = /^(\w+)\/(.+)$/.exec(path) ?? [];
  switch (area) {
    case "lake":
      if (lake.kind === "s3") await objects.put(rest, from, signal);
      else await copyVerified(files, from, join(lake.root, rest), crc32, signal);
      return;
    case "segments":
      await copyVerified(files, from, join(metricsDir, path), crc32, signal);
      return;
    case "log":
      await copyVerified(files, from, join(metricsDir, "wal", rest), crc32, signal);
      return;
  }
}

async function restoreStore(
  config: StoreConfig,
  directory: string,
  manifest: Manifest,
  files: Files,
): Promise<number> {
  const tables = new Map<string, string>();
  for (const { path } of manifest.files) {
    const table = /^store\/(\w+)\.jsonl$/.exec(path)?.[1];
    if (table === undefined) continue;
    tables.set(table, (await files.read(join(directory, path))).toString("utf8"));
  }
  // A SQLite store gets its name when it is complete.
  const fresh: StoreConfig =
    config.kind === "sqlite" ? { ...config, path: `${config.path}.restoring` } : config;
  const remove = (): void => {
    if (fresh.kind !== "sqlite") return;
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${fresh.path}${ending}`, { force: true });
  };
  remove();
  const schemaDir = mkdtempSync(join(tmpdir(), "capstan-restore-")); // BU5
  try {
    for (const { name, text, version } of readMigrations()) {
      if (version <= manifest.schemaVersion) writeFileSync(join(schemaDir, name), text);
    }
    await setupStore({ ...fresh, schemaDir });
    const store = await openStore({ ...fresh, schemaDir });
    let rows: number;
    try {
      rows = await store.transaction((tx) => loadStore(tx, tables));
    } finally {
      await store.close();
    }
    await setupStore(fresh);
    if (fresh.kind === "sqlite" && config.kind === "sqlite") {
      await files.sync(fresh.path);
      await files.rename(fresh.path, config.path);
      await files.sync(dirname(config.path));
    }
    return rows;
  } catch (thrown) {
    remove();
    throw thrown;
  } finally {
    rmSync(schemaDir, { recursive: true, force: true });
  }
}
