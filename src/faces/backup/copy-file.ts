import { dirname } from "node:path";
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Files } from "../../ground/kernel/files.ts";
import { makeDurableDirectory } from "../../ground/kernel/make-durable-directory.ts";
import { checksumFile } from "../../ground/threads/index.ts";

/**
 * On the disk when it returns, and its name with all directories above it, with the checksum that it must have. Throws `data_corrupt` where the
 * copy has another.
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
