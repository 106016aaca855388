/**
 * Taking the log over. The coordinator's lease says whose it is; the lease's epoch fences it, so
 * that a process that was stopped and wakes up cannot acknowledge what its successor did not read.
 *
 *   TL1  The term of an owner is the epoch of its lease, or one more than the newest there, if that
 *        is higher: the epochs of a store that was set up anew begin again.
 *   TL2  The fence is raised first: an empty list with the new number. Then the log is read.
 *        Whoever had it before looks for a higher number after each sync and before each
 *        acknowledgement, and acknowledges nothing once there is one.
 *   TL3  The lease is confirmed after the number was chosen. Two owners that chose the same number
 *        collide when they make the file; the one whose lease is older does not get another.
 *   TL4  What is read counts as far as it was read: the new list has the length of every file. What
 *        the old owner adds later is beyond it.
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

/** The lease, as far as the log needs it. */
export interface LogLease {
  readonly epoch: number;
  /**
   * Resolves with for how long from now on nobody else can get the lease, 0 if that is not known.
   * Throws `lease_lost` once somebody else has it, and anything else where it cannot be told.
   */
  confirm(): Promise<{ readonly validForMs: number }>;
}

/** For a log that nobody else can want. */
export const noLease: LogLease = { epoch: 0, confirm: async () => ({ validForMs: Infinity }) };

const attemptsMax = 20;

/** Raises the fence and gives its number. TL1 to TL3 */
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

/**
 * Of an owner that did not get to read the log: its lease keeps the ones before from acknowledging
 * anything.
 */
export async function dropEmptyList(disk: Files, directory: string, term: number): Promise<void> {
  const path = join(directory, listFileName(term));
  try {
    if ((await disk.stat(path))?.bytes === 0) await disk.unlink(path);
  } catch {
    // It is in nobody's way.
  }
}

/** Of lists and of log files: where a list is lost its files are still older than the next. */
export async function newestTerm(disk: Files, directory: string): Promise<number> {
  const names = await disk.list(directory);
  return names.reduce((most, { name }) => {
    return Math.max(most, parseListName(name) ?? 0, parseLogName(name)?.term ?? 0);
  }, 0);
}

/** The list is replaced at once, or not at all. */
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
 * What was read may be in the machine's memory alone: its writer was killed before its sync, or its
 * sync failed. From now on it counts as written (a sender that repeats it is told so), so it is
 * written once more, in its place, and synced: after a failed sync another one alone would say that
 * all is well.
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

/** Files that the list does not have, and older lists: nobody was promised anything of them. */
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

/**
 * Asks before each acknowledgement; the store only when the last answer does not hold any longer.
 * W5
 */
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
    // Counted from the question: whoever was stopped before the answer came has less of it.
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
