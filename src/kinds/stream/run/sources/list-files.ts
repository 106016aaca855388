/**
 * The files that a path stands for: a file is itself, a directory is the files in it, and `*` and
 * `?` match any characters of a name, or one. Names that begin with a dot are left out, unless they
 * are written out. Files are in the order of their paths, by character codes, on every machine.
 */
import { type Dirent, promises } from "node:fs";
import { join, parse, sep } from "node:path";

export interface FileList {
  readonly paths: readonly string[];
  /** Whether the path is one file, whatever comes into its directory later. */
  readonly isSingle: boolean;
}

export async function listFiles(path: string): Promise<FileList> {
  const found = await statOf(path);
  if (found?.isDirectory() === true) return { paths: await filesIn(path), isSingle: false };
  if (found !== undefined || !hasPattern(path)) return { paths: [path], isSingle: true };
  const { root } = parse(path);
  const segments = path
    .slice(root.length)
    .split(sep)
    .filter((segment) => segment !== "");
  const paths = await matches(root, segments);
  return { paths: paths.sort(byCodes), isSingle: false };
}

export function hasPattern(path: string): boolean {
  return /[*?]/.test(path);
}

async function matches(folder: string, segments: readonly string[]): Promise<string[]> {
  const [segment, ...rest] = segments;
  if (segment === undefined) return [];
  if (!hasPattern(segment)) {
    const path = join(folder, segment);
    if (rest.length > 0) return await matches(path, rest);
    return (await statOf(path))?.isFile() === true ? [path] : [];
  }
  const pattern = patternOf(segment);
  const found: string[] = [];
  for (const { name } of await entriesOf(folder === "" ? "." : folder)) {
    if (!pattern.test(name) || (name.startsWith(".") && !segment.startsWith("."))) continue;
    const path = join(folder, name);
    if (rest.length > 0) found.push(...(await matches(path, rest)));
    else if ((await statOf(path))?.isFile() === true) found.push(path);
  }
  return found;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name } of await entriesOf(folder)) {
    const path = join(folder, name);
    if (!name.startsWith(".") && (await statOf(path))?.isFile() === true) found.push(path);
  }
  return found.sort(byCodes);
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await promises.readdir(folder, { withFileTypes: true });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw thrown;
  }
}

async function statOf(
  path: string,
): Promise<Awaited<ReturnType<typeof promises.stat>> | undefined> {
  try {
    return await promises.stat(path);
  } catch {
    return undefined; // Whoever opens it meets the reason.
  }
}

function patternOf(segment: string): RegExp {
  const source = segment.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${source.replaceAll("?", ".")}$`, "su");
}

function byCodes(one: string, other: string): number {
  return one < other ? -1 : 1;
}
