/**
 * A path of a person in the one directory that File may see (SU60). Where it leads is looked at
 * when the file is opened: the directory is the operator's, so nobody else makes links in it.
 */
import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, sep } from "node:path";
import { DialectError } from "../../language/core/index.ts";
import { hasPattern, listFiles } from "../sources/list-files.ts";

export async function confine(folder: string, path: string): Promise<string> {
  const segments = path.split(/[/\\]/);
  if (isAbsolute(path) || path.includes("\0") || segments.includes("..")) {
    throw outside(path, "it has to be relative, without ..");
  }
  const root = await realpath(folder);
  const whole = join(root, path);
  const { paths } = await listFiles(whole);
  for (const place of hasPattern(path) ? paths : [whole, ...paths]) {
    const real = await realOf(place);
    if (real !== root && !real.startsWith(`${root}${sep}`)) {
      throw outside(path, "it leads out of the directory of streams");
    }
  }
  return whole;
}

/** Of the nearest part of the path that there is: the rest is made or found missing later. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    const parent = dirname(path);
    return parent === path ? path : join(await realOf(parent), "-");
  }
}

function outside(path: string, why: string): DialectError {
  const hint = "Files of streams are below the directory that the worker's --stream-dir names.";
  return new DialectError(1000, `the file ${path} cannot be used: ${why}`, { hint });
}
