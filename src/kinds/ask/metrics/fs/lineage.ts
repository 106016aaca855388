/**
 * The file `lineage` of a log: the name of its line of heads, made when the directory is first
 * used, and whether a list of the log's files was ever written. If it was, a missing list is
 * damage.
 */
import { join } from "node:path";
import type { Files } from "../../../../ground/kernel/files.ts";
import { replaceFile } from "../../../../ground/kernel/replace-file.ts";

const fileName = "lineage";
const content = /^([a-z0-9]{12})( listed)?$/;

export interface Lineage {
  readonly name: string;
  readonly isListed: boolean;
}

/** Undefined when the file is missing or damaged. */
export async function readLineage(disk: Files, walDir: string): Promise<Lineage | undefined> {
  const path = join(walDir, fileName);
  if ((await disk.stat(path)) === undefined) return undefined;
  const match = content.exec((await disk.read(path)).toString());
  if (match?.[1] === undefined) return undefined;
  return { name: match[1], isListed: match[2] !== undefined };
}

export async function writeLineage(disk: Files, walDir: string, lineage: Lineage): Promise<void> {
  const text = `${lineage.name}${lineage.isListed ? " listed" : ""}`;
  await replaceFile(disk, join(walDir, fileName), text);
}
