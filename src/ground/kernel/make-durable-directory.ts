import { dirname } from "node:path";
import type { Files } from "./files.ts";

/**
 * The directory is there, after a power loss too. All those above it are synced as well: any of
 * them may be new, made by us, or by an earlier run that was killed before it could sync them.
 */
export async function makeDurableDirectory(files: Files, path: string): Promise<void> {
  await files.makeDirectory(path);
  for (let at = path; ; at = dirname(at)) {
    try {
      await files.sync(at);
    } catch (thrown) {
      // One that we may not even open, or on a disk that cannot be written, was not made by us.
      if (!isForeign(thrown) || at === path) throw thrown;
    }
    if (at === dirname(at)) return;
  }
}

function isForeign(thrown: unknown): boolean {
  const { code } = thrown as { readonly code?: string };
  return code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "EINVAL";
}
