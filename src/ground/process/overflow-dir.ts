/**
 * A directory of this process's own on another file system than its data, in memory where there is
 * one: for the small files that a read needs while the disk is full.
 *
 *   OD1  It is its owner's alone, and goes with the process; what a killed process left goes when
 *        the next one starts.
 *   OD2  Where there is no other file system there is none: then such reads are refused with
 *        `disk_full`.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface OverflowDir {
  readonly path: string;
  /** Idempotent. */
  remove(): void;
}

const namePattern = /^capstan-overflow-(\d+)-[A-Za-z0-9]+$/;

export function makeOverflowDir(
  dataDir: string,
  bases: readonly string[] = ["/dev/shm", tmpdir()],
): OverflowDir | undefined {
  for (const base of bases) {
    try {
      if (statSync(base).dev === statSync(dataDir).dev) continue;
      removeLeftovers(base); // OD1
      const path = mkdtempSync(join(base, `capstan-overflow-${process.pid}-`));
      chmodSync(path, 0o700);
      return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
    } catch {
      // Not there, or not writable: the next one.
    }
  }
  return undefined; // OD2
}

function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = Number(namePattern.exec(name)?.[1]);
    if (!Number.isInteger(pid) || isRunning(pid)) continue;
    const path = join(base, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.uid !== process.getuid?.()) continue;
    rmSync(path, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EPERM";
  }
}
