/**
 * The lake's directory: `segments/<id>/` are segments, `tmp/<id>/` are segments being written. A segment appears in
 * `segments/` whole and on the disk, by one rename; only the store's catalog makes it visible.
 */
import { closeSync, fsync, openSync } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const fsyncFile = promisify(fsync);

export const segmentsFolder = "segments";
export const temporaryFolder = "tmp";

export async function prepareLake(lakeDir: string): Promise<void> {
  await mkdir(join(lakeDir, segmentsFolder), { recursive: true });
  await mkdir(join(lakeDir, temporaryFolder), { recursive: true });
  await syncDirectory(lakeDir);
}

/** So that a rename, a new file or a removal in it survives a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const fd = openSync(path, "r");
  try {
    await fsyncFile(fd);
  } finally {
    closeSync(fd);
  }
}

export async function syncFile(fd: number): Promise<void> {
  await fsyncFile(fd);
}

/** Deletes a segment's files. One that is gone already is no error. */
export async function removeSegmentFiles(lakeDir: string, path: string): Promise<void> {
  const directory = join(lakeDir, path);
  await rm(directory, { recursive: true, force: true });
  await syncDirectory(dirname(directory));
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
}): Promise<string[]> {
  const { lakeDir, known, wallMs, olderThanMs } = options;
  const swept: string[] = [];
  for (const folder of [temporaryFolder, segmentsFolder]) {
    for (const id of await readdir(join(lakeDir, folder)).catch(() => [])) {
      if (folder === segmentsFolder && known.has(id)) continue;
      const path = join(lakeDir, folder, id);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || wallMs - found.mtimeMs < olderThanMs) continue;
      await rm(path, { recursive: true, force: true });
      swept.push(id);
    }
  }
  return swept;
}
