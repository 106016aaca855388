/**
 * Where files are written before they are the lake's: a directory of this process's own, with one directory in it for each
 * write, which is gone when the write ends. What a killed process left is deleted when the next one begins.
 */
import { join } from "node:path";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { translateFileError } from "../objects/object-errors.ts";

const ourNames = /^write-[0-9a-z]+$/;

export async function emptyStaging(stagingDir: string, files: Files = realFiles): Promise<void> {
  await files.makeDirectory(stagingDir);
  for (const { name } of await files.list(stagingDir)) {
    if (ourNames.test(name)) await files.removeAll(join(stagingDir, name));
  }
}

/** `token`: lower-case letters and digits, used once. */
export async function withStaging<T>(
  stagingDir: string,
  token: string,
  write: (directory: string) => Promise<T>,
  files: Files = realFiles,
): Promise<T> {
  const directory = join(stagingDir, `write-${token}`);
  await inStaging(async () => {
    // One that vanished under this process is not made anew.
    if ((await files.stat(stagingDir)) === undefined) throw stagingGone();
    await files.makeDirectory(directory);
  });
  try {
    return await write(directory);
  } finally {
    await files.removeAll(directory);
  }
}

function stagingGone(): OperatingError {
  const message = "the directory in which this process writes new files is gone";
  return new OperatingError("store_unavailable", "backoff", message);
}

/** A disk that is full, or fails, has our words for it. */
export async function inStaging<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (thrown) {
    throw translateFileError(thrown, "that is being written");
  }
}
