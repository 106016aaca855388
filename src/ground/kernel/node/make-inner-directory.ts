import { mkdirSync } from "node:fs";

/**
 * A directory within one that is there. The one above it is not made: it may have vanished under this
 * process, and what is put into a new one of its name nobody would find again. Throws ENOENT then.
 */
export function makeInnerDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  }
}
