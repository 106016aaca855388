/**
 * Takes the log over (MH21). The coordinator's lease says who owns it, and the lease's epoch fences
 * it: a process that was stopped and wakes up cannot acknowledge what its successor did not read.
 *
 * The new owner's term is the epoch of its lease, or one above the newest term if that is higher,
 * because a newly set up store starts again with low epochs. The owner first creates an empty list
 * with the new number, then reads the log. The old owner looks for a higher number between each
 * sync and its acknowledgement. The new list has the length of every file as read, so later writes
 * of the old owner do not count.
 */
import { join } from "node:path";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import {
  encodeLogList,
  type LogList,
  listFileName,
  parseListName,
  parseLogName,
} from "./log-list.ts";
import type { LogRead } from "./read-log.ts";

/** The part of the lease that the log needs. */
export interface LogLease {
  readonly epoch: number;
  /**
   * Resolves with how long from now nobody else can get the lease; 0 if unknown. Throws
   * `lease_lost` when somebody else has it, and another error when that cannot be determined.
   */
  confirm(): Promise<{ readonly validForMs: number }>;
}

/** For a log that no other process can want. */
export const noLease: LogLease = { epoch: 0, confirm: async () => ({ validForMs: Infinity }) };

const attemptsMax = 20;

/**
 * Creates the empty list and returns its number. The lease is confirmed after the number is chosen,
 * so that of two owners with the same number the one with the older lease fails.
 */
export async function raiseFence(disk: Files, directory: string, lease: LogLease): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const term = Math.max(lease.epoch, (await newestTerm(disk, directory)) + 1);
    await lease.confirm();
    const path = join(directory, listFileName(term));
    try {
      await (await disk.open(path, "new")).close();
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw thrown;
    }
    await disk.sync(directory);
    await requireNewest(disk, directory, term);
    return term;
  }
  throw new OperatingError("store_busy", "backoff", "the metrics log is wanted by too many");
}

/** Removes the list of an owner that failed to read the log; its lease still fences others. */
export async function dropEmptyList(disk: Files, directory: string, term: number): Promise<void> {
  const path = join(directory, listFileName(term));
  try {
    if ((await disk.stat(path))?.bytes === 0) await disk.unlink(path);
  } catch {
    // An empty list that stays does no harm.
  }
}

/** The highest term of lists and log files: if a list is lost, its files still count. */
export async function newestTerm(disk: Files, directory: string): Promise<number> {
  const names = await disk.list(directory);
  return names.reduce((most, { name }) => {
    return Math.max(most, parseListName(name) ?? 0, parseLogName(name)?.term ?? 0);
  }, 0);
}

/** Replaces the list atomically. */
export async function writeLogList(disk: Files, directory: string, list: LogList): Promise<void> {
  const path = join(directory, listFileName(list.term));
  const fresh = `${path}.new`;
  await disk.removeAll(fresh);
  const file = await disk.open(fresh, "new");
  try {
    await file.write(encodeLogList(list), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(fresh, path);
  await disk.sync(directory);
}

/**
 * Writes and syncs again what may be in the machine's memory alone, because its writer was killed
 * before its sync or the sync failed. It counts as written from now on. A second sync alone would
 * not do: after a failed one it reports success.
 */
export async function makeSafe(disk: Files, directory: string, log: LogRead): Promise<void> {
  for (const { file, unsynced } of log.files) {
    if (unsynced === undefined) continue;
    const handle = await disk.open(join(directory, file.name), "change");
    try {
      await handle.write(unsynced.bytes, unsynced.from);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Removes unlisted files and older lists, of which nothing was acknowledged. */
export async function removeUnlisted(disk: Files, directory: string, list: LogList): Promise<void> {
  const listed = new Set(list.files.map(({ name }) => name));
  await requireNewest(disk, directory, list.term); // Another owner's list may have them.
  for (const { name } of await disk.list(directory)) {
    const listTerm = parseListName(name.replace(/\.new$/, ""));
    const logTerm = parseLogName(name)?.term;
    const isOld =
      (listTerm !== undefined && listTerm < list.term) ||
      (logTerm !== undefined && logTerm <= list.term && !listed.has(name));
    if (isOld) await disk.removeAll(join(directory, name));
  }
  await disk.sync(directory);
}

/** Confirms each acknowledgement; asks the store only when its last answer has expired. */
export function createLogGate(options: {
  readonly files: Files;
  readonly directory: string;
  readonly term: number;
  readonly lease: LogLease;
  readonly clock: Clock;
}): () => Promise<void> {
  const { files, directory, term, lease, clock } = options;
  let validUntilMs = -Infinity;
  return async () => {
    await requireNewest(files, directory, term);
    const askedAtMs = clock.nowMs();
    if (askedAtMs < validUntilMs) return;
    // Counted from the question, because the process may be stopped before the answer arrives.
    validUntilMs = askedAtMs + (await lease.confirm()).validForMs;
  };
}

async function requireNewest(disk: Files, directory: string, term: number): Promise<void> {
  const names = await disk.list(directory).catch((thrown: unknown) => {
    throw gone(thrown);
  });
  const terms = names.flatMap(({ name }) => parseListName(name) ?? []);
  if (terms.some((other) => other > term)) {
    const message = "another coordinator has taken the metrics log over";
    throw new OperatingError("lease_lost", "never", message);
  }
  if (!terms.includes(term)) throw gone(undefined);
}

function gone(cause: unknown): OperatingError {
  const message = "the directory of the metrics log is gone, or is another one by now";
  return new OperatingError("data_dir_unusable", "never", message, {
    cause,
    hint: "Bring the directory back and restart; nothing is acknowledged meanwhile.",
  });
}
