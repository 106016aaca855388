/**
 * A backup must be outside of what it copies. In the lake, upkeep would delete it as unreferenced
 * files; in the data directory, it would be lost with the disk that it protects against.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { OperatingError } from "../../ground/kernel/errors.ts";

/** Throws for a target that BU6 forbids. */
export function checkTarget(target: string, kept: readonly string[]): void {
  const real = realPathOf(target);
  for (const directory of kept) {
    const own = realPathOf(directory);
    if (!isWithin(real, own) && !isWithin(own, real)) continue;
    const message = `${target} is no place for a backup: it is in ${directory}, or has that in it`;
    throw new OperatingError("bad_request", "never", message, {
      hint: "Name a directory outside of the data directory, the lake and the metrics directory, best on another disk.",
    });
  }
}

function isWithin(path: string, directory: string): boolean {
  return (
    path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
  );
}

/** Resolves links as far as the path exists, and appends the rest. */
function realPathOf(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch (thrown) {
    const parent = dirname(whole);
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT" || parent === whole) throw thrown;
    return join(realPathOf(parent), basename(whole));
  }
}
