/**
 * A private directory on another file system than the data, in memory if possible, for the small
 * files that a read needs while the disk is full. It is removed with the process; the next start
 * removes what a killed process left. Without another file system such reads fail with `disk_full`.
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
      removeLeftovers(base);
      const path = mkdtempSync(join(base, `capstan-overflow-${process.pid}-`));
      chmodSync(path, 0o700);
      return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
    } catch {
      // It does not exist or is not writable: try the next.
    }
  }
  return undefined;
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
