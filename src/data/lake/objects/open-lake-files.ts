/** The lake's files, wherever a process was told that they are. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError } from "../../../ground/kernel/errors.ts";
import type { ObjectStore } from "../core/index.ts";
import { openDirectoryStore } from "./directory-store.ts";
import type { FileCache } from "./download-cache.ts";
import type { LakeLocation } from "./lake-url.ts";
import { openS3Store } from "./s3-store.ts";

export interface LakeFiles {
  readonly objects: ObjectStore;
  /** Transfers under way fail. */
  close(): void;
}

export interface LakeFilesOptions {
  readonly clock: Clock;
  /** Of a process that reads the lake's files; one without it only puts, lists and deletes them. */
  readonly cache?: FileCache;
}

/** Throws what is wrong with the place, so that a process says so when it starts and not at its first work. */
export async function openLakeFiles(
  location: LakeLocation,
  { clock, cache = unread }: LakeFilesOptions,
): Promise<LakeFiles> {
  if (location.kind === "directory") {
    return { objects: await openDirectoryStore(location.root), close: () => undefined };
  }
  const objects = await openS3Store({ ...location, clock }, cache);
  try {
    await objects.check();
  } catch (thrown) {
    objects.close();
    throw thrown;
  }
  return { objects, close: () => objects.close() };
}

const unread: FileCache = {
  get: () => Promise.reject(new AssertionError("this process reads no files of the lake")),
  reserve: () => Promise.reject(new AssertionError("this process reads no files of the lake")),
};
