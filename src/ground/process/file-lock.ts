/**
 * A file lock that the operating system releases when its holder dies in any way (PR3). Node has no
 * `flock`, but SQLite locks its files with it, so the lock is an empty database in an exclusive
 * transaction.
 */
import { DatabaseSync } from "node:sqlite";
import { OperatingError } from "../kernel/errors.ts";

export interface FileLock {
  /** Idempotent. */
  release(): void;
}

/** Undefined when another process holds the lock. */
export function tryLockFile(path: string): FileLock | undefined {
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
  } catch (cause) {
    throw new OperatingError("data_dir_unusable", "never", `cannot open the lock file ${path}`, {
      cause,
      hint: "Is the directory writable?",
    });
  }
  try {
    // The journal is in memory, because a journal file could not be created on a full disk.
    database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (thrown) {
    database.close();
    if (isBusy(thrown)) return undefined;
    throw new OperatingError("data_dir_unusable", "never", `cannot lock ${path}`, {
      cause: thrown,
      hint: "It should be an empty file on a local disk; delete it if it is something else.",
    });
  }
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      database.close();
    },
  };
}

const sqliteBusy = 5;

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && "errcode" in thrown && thrown.errcode === sqliteBusy;
}
