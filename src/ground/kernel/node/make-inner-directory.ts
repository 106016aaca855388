import { mkdirSync } from "node:fs";

/**
 * Makes a directory in an existing one. A missing parent is not made: it may have been deleted
 * under this process, and nobody would find files in its replacement. Throws ENOENT then.
 */
export function makeInnerDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  }
}
