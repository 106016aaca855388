/** Paths of files in a cluster, where File sees one directory and nothing else [SU60]. */
import { DialectError } from "../dialect-error.ts";
import type { Settings } from "../plan.ts";

/** Refuses what can be below no directory, wherever a worker has it. */
export function checkFilePath(path: string): void {
  if (path === "") throw fileOutside(path, "its path is empty");
  const isAbsolute = /^([/\\]|[a-z]:)/i.test(path);
  if (isAbsolute || path.includes("\0") || path.split(/[/\\]/).includes("..")) {
    throw fileOutside(path, "it has to be relative, without ..");
  }
}

/** The same for a source's or sink's configuration, if it names a file. */
export function checkFileOf({ FILE_PATH: path }: Settings): void {
  if (typeof path === "string") checkFilePath(path);
}

export function fileOutside(path: string, why: string): DialectError {
  const hint = "Files of streams are below the directory that the worker's --stream-dir names.";
  return new DialectError(1000, `the file ${path} cannot be used: ${why}`, { hint });
}
