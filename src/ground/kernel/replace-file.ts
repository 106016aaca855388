import type { Files } from "./files.ts";

/**
 * Whoever reads `path`, after a power loss too, finds what was there before or all of `content`.
 * One caller at a time.
 */
export async function replaceFile(files: Files, path: string, content: string): Promise<void> {
  const fresh = `${path}.new`;
  await files.removeAll(fresh); // What a crash left.
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
