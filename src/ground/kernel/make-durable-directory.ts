import { dirname } from "node:path";
import type { Files } from "./files.ts";

/**
 * Makes a directory that survives a power loss. Its parents are synced too: any of them may be new,
 * made here or by an earlier run that was killed before it could sync.
 */
export async function makeDurableDirectory(files: Files, path: string): Promise<void> {
  await files.makeDirectory(path);
  for (let at = path; ; at = dirname(at)) {
    try {
      await files.sync(at);
    } catch (thrown) {
      // A parent that we may not open, or on a read-only disk, was not made by us.
      if (!isForeign(thrown) || at === path) throw thrown;
    }
    if (at === dirname(at)) return;
  }
}

function isForeign(thrown: unknown): boolean {
  const { code } = thrown as { readonly code?: string };
  return code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "EINVAL";
}
