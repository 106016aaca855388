/**
 * The lake's directory: `segments/<id>/` are segments, `tmp/<id>/` are segments being written. A segment appears in
 * `segments/` whole and on the disk, by one rename; only the store's catalog makes it visible.
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

/** Deletes a segment's files. One that is gone already is no error. */
export async function removeSegmentFiles(
  lakeDir: string,
  path: string,
  files: Files = realFiles,
): Promise<void> {
  const directory = join(lakeDir, path);
  await files.removeAll(directory);
  await files.sync(dirname(directory));
}

/**
 * Deletes what nobody published: half-written segments, and whole ones that are not `known`. Young ones stay: somebody
 * may be about to publish them. Gives the ids that were deleted.
 */
export async function sweepOrphans(options: {
  readonly lakeDir: string;
  /** Ids in the catalog, read after this call began or the orphans are old enough for it not to matter. */
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
