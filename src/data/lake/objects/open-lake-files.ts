/** Opens the lake's files at the configured location. */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError } from "../../../ground/kernel/errors.ts";
import type { ObjectStore } from "../core/index.ts";
import { openDirectoryStore } from "./directory-store.ts";
import type { FileCache } from "./download-cache.ts";
import type { LakeLocation } from "./lake-url.ts";
import { openS3Store } from "./s3-store.ts";

export interface LakeFiles {
  readonly objects: ObjectStore;
  /** Makes transfers under way fail. */
  close(): void;
}

export interface LakeFilesOptions {
  readonly clock: Clock;
  /** For a process that reads files. Without it, a process only puts, lists and deletes. */
  readonly cache?: FileCache;
}

/** Throws if the location is unusable, so that a process fails at its start. */
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
