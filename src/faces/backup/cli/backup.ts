/** `capstan backup` and `capstan restore`. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  decideLakePlaces,
  type LakeLocation,
  type ObjectStore,
  openDownloadCache,
  openLakeFiles,
} from "../../../data/lake/index.ts";
import { formatBytes, formatCount, processTerminal } from "../../../ground/command/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { createSystemPrng } from "../../../ground/kernel/node/system-random.ts";
import { lockDir, openDataDir, packageInfo } from "../../../ground/process/index.ts";
import { openStore, parseStoreUrl } from "../../../ground/store/index.ts";
import { DiskBudget, defaultDiskRatios } from "../../../ground/work/index.ts";
import { runBackup } from "../run-backup.ts";
import { runRestore } from "../run-restore.ts";

export interface BackupOptions {
  readonly dataDir: string;
  readonly store?: string;
  readonly lake?: string;
  readonly metricsDir?: string;
  readonly json?: boolean;
}

const parts = { clock: realClock, logger: silentLogger };
/** The disk space for copies of remote files. */
const copyBytes = 10 * 1024 ** 3;

export async function runBackupCommand(
  directory: string,
  options: BackupOptions,
  signal: AbortSignal,
): Promise<void> {
  // A backup creates no data directory. A missing one is a wrong option.
  if (!existsSync(options.dataDir) && (options.store === undefined || options.lake === undefined)) {
    const message = `there is no directory ${options.dataDir}`;
    throw new OperatingError("not_found", "never", message, {
      hint: "Say where it is with --data-dir.",
    });
  }
  const { storePath, tables, metricsDir } = placesOf(options);
  const keptDirs = [
    metricsDir,
    ...(existsSync(options.dataDir) ? [options.dataDir] : []),
    ...(tables.kind === "directory" ? [tables.root] : []),
  ];
  const location = parseStoreUrl(storePath);
  const store = await openStore({ ...location, ...parts, prng: createSystemPrng() });
  try {
    const done = await withLake(tables, (objects) => {
      const { version } = packageInfo();
      const means = { files: realFiles, clock: realClock, prng: createSystemPrng(), version };
      return runBackup({ store, objects, metricsDir, keptDirs }, directory, means, signal);
    });
    const terminal = processTerminal();
    if (options.json === true) terminal.out(`${JSON.stringify(done)}\n`);
    else {
      const { files, bytes, outside } = done;
      terminal.out(
        `backup: ${formatCount(files, "file")}, ${formatBytes(bytes)}, in ${done.directory}\n`,
      );
      for (const path of outside)
        terminal.out(`not in it, because it is not in the lake: ${path}\n`);
    }
  } finally {
    await store.close();
  }
}

export async function runRestoreCommand(
  directory: string,
  options: BackupOptions,
  signal: AbortSignal,
): Promise<void> {
  const dataDir = openDataDir(options.dataDir);
  const lock = await lockDir(dataDir.path, "up.lock", realClock, 0);
  try {
    const { storePath, tables, metricsDir } = placesOf(options);
    const store = { ...parseStoreUrl(storePath), ...parts, prng: createSystemPrng() };
    const done = await withLake(tables, (objects) =>
      runRestore(directory, { store, lake: tables, objects, metricsDir }, realFiles, signal),
    );
    const terminal = processTerminal();
    if (options.json === true) terminal.out(`${JSON.stringify(done)}\n`);
    else {
      const { files, bytes, createdAt } = done;
      terminal.out(
        `restored: ${formatCount(files, "file")}, ${formatBytes(bytes)}, as of ${createdAt}\n`,
      );
    }
  } finally {
    lock.release();
  }
}

function placesOf(options: BackupOptions) {
  const dataDir = () => openDataDir(options.dataDir);
  const { tables, metricsDir } = decideLakePlaces(options, options.lake ?? dataDir().lakeDir);
  const inDataDir = tables.kind === "s3" && options.metricsDir === undefined;
  return {
    storePath: options.store ?? dataDir().storePath,
    tables,
    metricsDir: inDataDir ? dataDir().lakeDir : metricsDir,
  };
}

async function withLake<T>(
  tables: LakeLocation,
  use: (objects: ObjectStore) => Promise<T>,
): Promise<T> {
  const copiesDir = mkdtempSync(join(tmpdir(), "capstan-backup-"));
  const limits = { capacityBytes: copyBytes, artifactFloorBytes: 0, ...defaultDiskRatios };
  const cache = await openDownloadCache({
    dir: copiesDir,
    budget: new DiskBudget(limits),
    ...parts,
  });
  try {
    const files = await openLakeFiles(tables, { clock: realClock, cache });
    try {
      return await use(files.objects);
    } finally {
      files.close();
    }
  } finally {
    await cache.close();
    rmSync(copiesDir, { recursive: true, force: true });
  }
}
