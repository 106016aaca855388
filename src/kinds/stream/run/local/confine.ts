/**
 * A path of a person in the one directory that File may see (SU60). Where it leads is looked at
 * when the file is opened: the directory is the operator's, so nobody else makes links in it.
 */
import { realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { checkFilePath, fileOutside } from "../../language/core/index.ts";
import { hasPattern, listFiles } from "../sources/list-files.ts";

export async function confine(folder: string, path: string): Promise<string> {
  checkFilePath(path);
  const root = await realpath(folder);
  const whole = join(root, path);
  const { paths } = await listFiles(whole);
  for (const place of hasPattern(path) ? paths : [whole, ...paths]) {
    const real = await realOf(place);
    if (real !== root && !real.startsWith(`${root}${sep}`)) {
      throw fileOutside(path, "it leads out of the directory of streams");
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
