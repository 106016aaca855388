/**
 * The directory of this process where files are written before they join the lake. Each write has a
 * directory in it, which is deleted when the write ends. A process deletes what its killed
 * predecessor left.
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

/** `token` has lower-case letters and digits and is used once. */
export async function withStaging<T>(
  stagingDir: string,
  token: string,
  write: (directory: string) => Promise<T>,
  files: Files = realFiles,
): Promise<T> {
  const directory = join(stagingDir, `write-${token}`);
  await inStaging(async () => {
    // A staging directory that vanished is not made again.
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

/** Translates the errors of a full or failing disk. */
export async function inStaging<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (thrown) {
    throw translateFileError(thrown, "that is being written");
  }
}
