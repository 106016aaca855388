import { dirname } from "node:path";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import { makeDurableDirectory } from "../../ground/kernel/make-durable-directory.ts";
import { checksumFile } from "../../ground/threads/index.ts";

/**
 * Copies a file and checks its checksum. When it returns, the file, its name and all directories
 * above it are on the disk. Throws `data_corrupt` for a wrong checksum.
 */
export async function copyVerified(
  files: Files,
  from: string,
  to: string,
  crc32: number,
  signal: AbortSignal,
): Promise<{ readonly bytes: number }> {
  await files.makeDirectory(dirname(to));
  await files.copy(from, to, signal);
  await files.sync(to);
  await makeDurableDirectory(files, dirname(to));
  const found = await checksumFile(to);
  if (found !== crc32) {
    const message = `${from} was read otherwise than it should be: its disk, or the one of ${to}, is damaged`;
    throw new OperatingError("data_corrupt", "never", message);
  }
  return { bytes: (await files.stat(to))?.bytes ?? 0 };
}
