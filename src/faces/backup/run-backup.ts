/**
 * Copies a Capstan that may be running: its log, its store, and the files that the store names
 * (BU1, BU4). It changes nothing but a hold in the store, which keeps upkeep from deleting files.
 *
 * The log is copied first, then the store's rows of one moment, then the files that they name. What
 * was acknowledged before the backup began is therefore in the log's copy, or in a segment that the
 * rows name.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { isLakePath, type ObjectStore, readChecksummedFiles } from "../../data/lake/index.ts";
import { type Clock, repeat, type Timer } from "../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import { makeDurableDirectory } from "../../ground/kernel/make-durable-directory.ts";
import { type Prng, randomText } from "../../ground/kernel/prng.ts";
import { dropHold, keepHold, readSchemaVersion, type Store } from "../../ground/store/index.ts";
import { checksumFile } from "../../ground/threads/index.ts";
import {
  findLogDamage,
  type SegmentInfo,
  segmentFilesOf,
  visibleSegments,
} from "../../kinds/ask/metrics/index.ts";
import { checkTarget } from "./check-target.ts";
import { copyVerified } from "./copy-file.ts";
import { type BackupFile, writeManifest } from "./manifest.ts";
import { dumpStore } from "./store-dump.ts";

export interface BackupSource {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly metricsDir: string;
  /** The data directory, the lake and the metrics directory. */
  readonly keptDirs: readonly string[];
}

export interface BackupParts {
  readonly files: Files;
  readonly clock: Clock;
  readonly prng: Prng;
  /** The version of Capstan. */
  readonly version: string;
  /** For tests: called after the store's rows are read, before the files are copied. */
  readonly afterSnapshot?: () => Promise<void>;
}

export interface BackupDone {
  readonly directory: string;
  readonly files: number;
  readonly bytes: number;
  /**
   * Files of tables outside of the lake, which another writer added in place. They are not in the
   * backup.
   */
  readonly outside: readonly string[];
}

const holdMs = 120_000;
const renewMs = 20_000;

export async function runBackup(
  source: BackupSource,
  target: string,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<BackupDone> {
  const directory = resolve(target);
  checkTarget(directory, source.keptDirs);
  takeEmpty(directory);
  const holder = `backup-${randomText(parts.prng, 16)}`;
  await keepHold(source.store, holder, holdMs);
  const renewing = keepRenewing(source.store, holder, parts.clock);
  try {
    return await copyAll(source, directory, parts, signal);
  } catch (thrown) {
    if (!(thrown instanceof OperatingError)) throw notFinished(directory, thrown);
    throw thrown;
  } finally {
    renewing.cancel();
    await dropHold(source.store, holder).catch(() => undefined); // It expires by itself.
  }
}

async function copyAll(
  { store, objects, metricsDir }: BackupSource,
  directory: string,
  { files, clock, version, afterSnapshot }: BackupParts,
  signal: AbortSignal,
): Promise<BackupDone> {
  const kept: BackupFile[] = [];
  const keep = async (from: string, path: string, crc32: number): Promise<void> => {
    signal.throwIfAborted();
    const { bytes } = await copyVerified(files, from, join(directory, path), crc32, signal);
    kept.push({ path, bytes, crc32 });
  };
  kept.push(...(await copyLog(files, metricsDir, directory, signal))); // Before the store's rows.
  const storeDir = join(directory, "store");
  await files.makeDirectory(storeDir);
  const schemaVersion = await readSchemaVersion(store);
  const moment = await store.read(async (tx) => ({
    tables: await dumpStore(tx, store.dialect, files, storeDir),
    lake: (await readChecksummedFiles(tx)).files,
    segments: await visibleSegments(tx),
  }));
  for (const name of moment.tables) {
    const path = join(storeDir, name);
    const bytes = (await files.stat(path))?.bytes ?? 0;
    kept.push({ path: `store/${name}`, bytes, crc32: await checksumFile(path) });
  }
  await afterSnapshot?.();
  const inLake = moment.lake.filter(({ path }) => isLakePath(path));
  for (const { path, sizeBytes, crc32 } of inLake) {
    const copy = await objects.fetch(
      { path, sizeBytes, ...(crc32 === undefined ? {} : { crc32 }) },
      signal,
    );
    try {
      await keep(copy.localPath, `lake/${path}`, crc32 ?? (await checksumFile(copy.localPath)));
    } finally {
      copy.release();
    }
  }
  for (const info of moment.segments) await copySegment(info, metricsDir, keep);
  for (const folder of ["log", "store"]) await files.sync(join(directory, folder));
  await makeDurableDirectory(files, directory);
  const createdAt = new Date(clock.wallMs()).toISOString();
  await writeManifest(files, directory, { createdAt, version, schemaVersion, files: kept });
  const outside = moment.lake.filter(({ path }) => !isLakePath(path)).map(({ path }) => path);
  const bytes = kept.reduce((sum, file) => sum + file.bytes, 0);
  return { directory, files: kept.length, bytes, outside };
}

async function copySegment(
  info: SegmentInfo,
  metricsDir: string,
  keep: (from: string, path: string, crc32: number) => Promise<void>,
): Promise<void> {
  for (const { name, crc32 } of segmentFilesOf(info)) {
    const path = `${info.path}/${name}`;
    const from = join(metricsDir, path);
    const found = await checksumFile(from).catch((thrown: unknown) => {
      const message = `segment ${info.segmentId}, ${name}: ${messageOf(thrown)}`;
      throw new OperatingError("data_corrupt", "never", message);
    });
    if (crc32 !== undefined && crc32 !== found) {
      const message = `segment ${info.segmentId} is damaged: ${name} has another checksum`;
      throw new OperatingError("data_corrupt", "never", message, {
        hint: "The backup is not finished. capstan lake check names every damaged file.",
      });
    }
    await keep(from, path, found);
  }
}

const logAttemptsMax = 50;
/** A missing listed file may appear at the next attempt; damage stays. */
const damagedAttemptsMax = 3;
const notOfTheLog = /^lock$|\.new$/;

/**
 * Copies the log's files and the list of them (`src/kinds/ask/metrics/fs/log-list.ts`). A seal may
 * remove files meanwhile; then it copies again. The newest file may end within a record, which was
 * not acknowledged when it was read.
 */
async function copyLog(
  files: Files,
  metricsDir: string,
  directory: string,
  signal: AbortSignal,
): Promise<readonly BackupFile[]> {
  const from = join(metricsDir, "wal");
  const to = join(directory, "log");
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    await files.removeAll(to);
    const before = await listsOf(files, from);
    const copied = await copyOnce(files, from, to, before);
    const after = await listsOf(files, from);
    const isSame = JSON.stringify([...before]) === JSON.stringify([...after]);
    if (copied !== undefined && isSame) {
      const damage = await findLogDamage(files, to); // BU1
      if (damage === undefined) return copied;
      if (attempt >= damagedAttemptsMax) throw damage;
    }
    if (attempt === logAttemptsMax) {
      throw new OperatingError("store_busy", "backoff", "the metrics log changes all the time");
    }
  }
}

/** The lists of the log's files, by name. */
async function listsOf(files: Files, from: string): Promise<ReadonlyMap<string, string>> {
  const lists = new Map<string, string>();
  for (const { name } of await entriesOf(files, from)) {
    if (!name.startsWith("term-")) continue;
    const bytes = await files.read(join(from, name)).catch(() => undefined);
    if (bytes !== undefined) lists.set(name, bytes.toString("latin1"));
  }
  return new Map([...lists].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Undefined when a file was removed meanwhile. */
async function copyOnce(
  files: Files,
  from: string,
  to: string,
  lists: ReadonlyMap<string, string>,
): Promise<readonly BackupFile[] | undefined> {
  await files.makeDirectory(to);
  const copied: BackupFile[] = [];
  for (const { name, kind } of await entriesOf(files, from)) {
    if (kind !== "file" || notOfTheLog.test(name)) continue;
    const path = join(to, name);
    const listed = lists.get(name);
    if (listed === undefined && name.startsWith("term-")) return undefined;
    try {
      if (listed === undefined) await files.copy(join(from, name), path);
      else await writeText(files, path, listed);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw thrown;
    }
    await files.sync(path);
    const bytes = (await files.stat(path))?.bytes ?? 0;
    copied.push({ path: `log/${name}`, bytes, crc32: await checksumFile(path) });
  }
  return copied;
}

async function writeText(files: Files, path: string, text: string): Promise<void> {
  const file = await files.open(path, "new");
  try {
    await file.write(Buffer.from(text, "latin1"), 0);
  } finally {
    await file.close();
  }
}

async function entriesOf(files: Files, directory: string) {
  return await files.list(directory).catch((thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw thrown;
  });
}

/** Creates it for its owner alone, because the store's rows may be private. */
function takeEmpty(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (readdirSync(directory).length === 0) return;
  const message = `${directory} is not empty`;
  throw new OperatingError("already_exists", "never", message, {
    hint: "Name a new directory. One without a manifest.json is of a backup that was not finished, and may be deleted.",
  });
}

function notFinished(directory: string, thrown: unknown): OperatingError {
  const code = (thrown as NodeJS.ErrnoException).code;
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  const aborted = (thrown as Error).name === "AbortError";
  const message = `the backup was not finished: ${messageOf(thrown)}`;
  return new OperatingError(
    isFull ? "disk_full" : aborted ? "cancelled" : "store_unavailable",
    "never",
    message,
    { cause: thrown, hint: `Delete ${directory}, and try again.` },
  );
}

function keepRenewing(store: Store, holder: string, clock: Clock): Timer {
  return repeat(clock, renewMs, () => {
    keepHold(store, holder, holdMs).catch(() => undefined); // Tried again before it expires.
  });
}
