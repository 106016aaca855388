/**
 * Where files are written before they are the lake's: a directory of this process's own, with one directory in it for each
 * write, which is gone when the write ends. What a killed process left is deleted when the next one begins.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const ourNames = /^write-[0-9a-z]+$/;

export async function emptyStaging(stagingDir: string): Promise<void> {
  await mkdir(stagingDir, { recursive: true });
  for (const name of await readdir(stagingDir)) {
    if (ourNames.test(name)) await rm(join(stagingDir, name), { recursive: true, force: true });
  }
}

/** `token`: lower-case letters and digits, used once. */
export async function withStaging<T>(
  stagingDir: string,
  token: string,
  write: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = join(stagingDir, `write-${token}`);
  await mkdir(directory);
  try {
    return await write(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
