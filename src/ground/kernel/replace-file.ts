import type { Files } from "./files.ts";

/**
 * Replaces a file atomically: a reader finds the old or the new content, also after a power loss.
 * One caller at a time.
 */
export async function replaceFile(files: Files, path: string, content: string): Promise<void> {
  const fresh = `${path}.new`;
  await files.removeAll(fresh); // Left by a crash.
  const file = await files.open(fresh, "new");
  try {
    await file.write(Buffer.from(content), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(fresh, path);
  await files.sync(path.slice(0, path.lastIndexOf("/")) || "/");
}
