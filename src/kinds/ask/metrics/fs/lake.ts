/**
 * The lake's directory: `segments/<id>/` has segments, `tmp/<id>/` those being written. One rename
 * moves a whole, synced segment to `segments/`; only the store's catalog makes it visible.
 */
import { dirname, join } from "node:path";
import type { Files } from "../../../../ground/kernel/files.ts";
import { makeDurableDirectory } from "../../../../ground/kernel/make-durable-directory.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";

export const segmentsFolder = "segments";
export const temporaryFolder = "tmp";

export async function prepareLake(lakeDir: string, files: Files = realFiles): Promise<void> {
  await files.makeDirectory(join(lakeDir, temporaryFolder));
  await makeDurableDirectory(files, join(lakeDir, segmentsFolder));
}

/** Deletes a segment's files. It is no error if they are gone already. */
export async function removeSegmentFiles(
  lakeDir: string,
  path: string,
  files: Files = realFiles,
): Promise<void> {
  const directory = join(lakeDir, path);
  await files.removeAll(directory);
  await files.sync(dirname(directory));
}

/** Deletes old unpublished segments, half-written or whole, and returns their ids. */
export async function sweepOrphans(options: {
  readonly lakeDir: string;
  /** The ids in the catalog, read after this call began unless the orphans are old. */
  readonly known: ReadonlySet<string>;
  readonly wallMs: number;
  readonly olderThanMs: number;
  readonly files?: Files;
}): Promise<string[]> {
  const { lakeDir, known, wallMs, olderThanMs, files = realFiles } = options;
  const swept: string[] = [];
  for (const folder of [temporaryFolder, segmentsFolder]) {
    for (const { name: id } of await files.list(join(lakeDir, folder)).catch(() => [])) {
      if (folder === segmentsFolder && known.has(id)) continue;
      const path = join(lakeDir, folder, id);
      const found = await files.stat(path).catch(() => undefined);
      if (found === undefined || wallMs - found.modifiedMs < olderThanMs) continue;
      await files.removeAll(path);
      swept.push(id);
    }
  }
  return swept;
}
