/**
 * The lake's files in a directory that several processes use at once, also several machines through
 * a shared file system. Rules: LO1 to LO6.
 *
 * A file is written in `.writing/`, on the same file system, synced, and renamed to its name. The
 * rename is synced before `put` returns. The lake's own directory is made only when the store is
 * opened, so that nothing is written to a mount point without its disk.
 */
import { dirname, join, resolve } from "node:path";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { FileEntry, Files } from "../../../ground/kernel/files.ts";
import { makeDurableDirectory } from "../../../ground/kernel/make-durable-directory.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import type {
  LocalCopy,
  NeededFile,
  ObjectInfo,
  ObjectStore,
  PutFile,
  Reservation,
} from "../core/index.ts";
import { FileVerifier } from "./file-verifier.ts";
import {
  codeOf,
  damaged,
  isAbsent,
  missing,
  otherChecksum,
  throwIfCancelled,
  translateFileError,
} from "./object-errors.ts";
import { checkObjectPath, checkObjectPrefix, writingFolder } from "./object-path.ts";

const abandonedMs = 24 * 60 * 60 * 1000;
/** How often a concurrent delete may remove the directory of a `put`. */
const moveAttemptsMax = 200;

/** Creates the directory if it is absent. */
export async function openDirectoryStore(
  directory: string,
  files: Files = realFiles,
  verifier: FileVerifier = new FileVerifier({ files }),
): Promise<ObjectStore> {
  const root = resolve(directory);
  try {
    await makeDurableDirectory(files, join(root, writingFolder));
    await sweepAbandoned(files, join(root, writingFolder));
  } catch (thrown) {
    throw translateFileError(thrown, root);
  }
  return new DirectoryStore(root, files, verifier);
}

class DirectoryStore implements ObjectStore {
  readonly kind = "directory";
  readonly #root: string;
  readonly #files: Files;
  readonly #verifier: FileVerifier;

  constructor(root: string, files: Files, verifier: FileVerifier) {
    this.#root = root;
    this.#files = files;
    this.#verifier = verifier;
  }

  async put(path: string, localFile: string, signal?: AbortSignal): Promise<PutFile> {
    checkObjectPath(path);
    throwIfCancelled(path, signal);
    let crc32: number;
    try {
      await this.#files.sync(localFile);
      crc32 = await this.#verifier.read(localFile);
      this.#verifier.forget(localFile); // It gets another name.
    } catch (thrown) {
      throw isAbsent(thrown) ? missing(localFile, thrown) : translateFileError(thrown, path);
    }
    await this.#checkRoot();
    throwIfCancelled(path, signal);
    try {
      await this.#place(localFile, path);
    } catch (thrown) {
      if (codeOf(thrown) !== "EXDEV") throw translateFileError(thrown, path);
      await this.#copyAndPlace(localFile, path, signal);
    }
    return { crc32 };
  }

  async fetch(
    { path, sizeBytes, crc32, isDamaged }: NeededFile,
    signal?: AbortSignal,
  ): Promise<LocalCopy> {
    checkObjectPath(path);
    throwIfCancelled(path, signal);
    const info = await this.stat(path);
    if (info === undefined) {
      await this.#checkRoot(); // The whole lake may be missing.
      throw missing(path);
    }
    if (info.sizeBytes !== sizeBytes) {
      throw damaged(path, `it has ${info.sizeBytes} bytes instead of ${sizeBytes}`);
    }
    const localPath = this.#pathOf(path);
    if (isDamaged === true) this.#verifier.forget(localPath);
    if (crc32 !== undefined) await this.#verify(path, localPath, crc32);
    return { localPath, release: () => undefined };
  }

  async checksum(path: string): Promise<number | undefined> {
    checkObjectPath(path);
    try {
      return await this.#verifier.read(this.#pathOf(path));
    } catch (thrown) {
      if (!isAbsent(thrown)) throw translateFileError(thrown, path);
      await this.#checkRoot(); // The whole lake may be missing.
      return undefined;
    }
  }

  async #verify(path: string, localPath: string, crc32: number): Promise<void> {
    let found: number | undefined;
    try {
      found = await this.#verifier.mismatch(localPath, crc32);
    } catch (thrown) {
      throw translateFileError(thrown, path);
    }
    if (found !== undefined) throw otherChecksum(path, crc32, found);
  }

  /** Files are read in place. */
  reserve(): Promise<Reservation> {
    return Promise.resolve({ release: () => undefined });
  }

  async stat(path: string): Promise<ObjectInfo | undefined> {
    checkObjectPath(path);
    try {
      const found = await this.#files.stat(this.#pathOf(path));
      if (found?.kind !== "file") return undefined;
      return { path, sizeBytes: found.bytes, modifiedMs: found.modifiedMs };
    } catch (thrown) {
      throw translateFileError(thrown, path);
    }
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    checkObjectPrefix(prefix);
    const slash = prefix.lastIndexOf("/") + 1;
    yield* this.#walk(prefix.slice(0, slash), prefix.slice(slash));
  }

  async delete(paths: readonly string[]): Promise<void> {
    for (const path of paths) checkObjectPath(path); // No file is deleted if any name is refused.
    for (const path of paths) {
      try {
        const place = this.#pathOf(path);
        const found = await this.#files.stat(place);
        if (found?.kind === "directory") continue;
        await this.#files.unlink(place);
        await this.#removeEmpty(path);
      } catch (thrown) {
        if (!isAbsent(thrown)) throw translateFileError(thrown, path);
      }
    }
  }

  /** Throws if the lake's own directory is gone, for example because its disk is not mounted. */
  async #checkRoot(): Promise<void> {
    try {
      if ((await this.#files.stat(join(this.#root, writingFolder))) !== undefined) return;
    } catch (thrown) {
      throw translateFileError(thrown, this.#root);
    }
    const message = "the lake's directory is gone";
    throw new OperatingError("store_unavailable", "backoff", message);
  }

  /** `folder` is empty or ends with a slash. */
  async *#walk(folder: string, begin: string): AsyncGenerator<ObjectInfo> {
    for (const entry of await this.#entriesOf(folder)) {
      if (!entry.name.startsWith(begin)) continue;
      const path = folder + entry.name;
      if (path === writingFolder) continue;
      if (entry.kind === "directory") yield* this.#walk(`${path}/`, "");
      else if (entry.kind === "file") {
        const info = await this.stat(path);
        if (info !== undefined) yield info;
      }
    }
  }

  async #entriesOf(folder: string): Promise<readonly FileEntry[]> {
    try {
      return await this.#files.list(join(this.#root, folder));
    } catch (thrown) {
      if (!isAbsent(thrown)) throw translateFileError(thrown, folder);
      await this.#checkRoot(); // A folder may be deleted meanwhile, the root may not.
      return [];
    }
  }

  /** Renames the file to its name and syncs the rename. */
  async #place(from: string, path: string): Promise<void> {
    const to = this.#pathOf(path);
    await this.#move(from, to);
    try {
      // Syncs all ancestors: any of them may be new.
      for (let at = dirname(to); at.length >= this.#root.length; at = dirname(at)) {
        await this.#files.sync(at);
        if (at === dirname(at)) break;
      }
    } catch (thrown) {
      if (!isAbsent(thrown)) throw thrown; // It was deleted already, with its directory.
    }
  }

  async #move(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#files.makeDirectory(dirname(to));
        await this.#files.rename(from, to);
        return;
      } catch (thrown) {
        if (codeOf(thrown) !== "ENOENT") throw thrown;
        const isHere = await this.#files.stat(from).catch(() => undefined);
        if (isHere === undefined) throw missing(from, thrown);
        if (attempt === moveAttemptsMax) {
          const message = `${to}: its directory is deleted again and again`;
          throw new OperatingError("store_unavailable", "backoff", message, { cause: thrown });
        }
      }
    }
  }

  async #copyAndPlace(localFile: string, path: string, signal?: AbortSignal): Promise<void> {
    let folder: string | undefined;
    try {
      folder = await this.#files.makeOwnDirectory(join(this.#root, writingFolder, "put-"));
      const copy = join(folder, "file");
      await this.#files.copy(localFile, copy, signal);
      await this.#files.sync(copy);
      throwIfCancelled(path, signal);
      await this.#place(copy, path);
    } catch (thrown) {
      throw translateFileError(thrown, path);
    } finally {
      if (folder !== undefined) await this.#files.removeAll(folder);
      await this.#removeEmpty(path); // Removes directories that a failed move made.
    }
  }

  /** Removes the directories that a deletion left empty. */
  async #removeEmpty(path: string): Promise<void> {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      try {
        await this.#files.removeDirectory(join(this.#root, path.slice(0, at)));
      } catch {
        return; // Not empty, or another process was first.
      }
    }
  }

  #pathOf(path: string): string {
    return join(this.#root, path);
  }
}

/** Deletes what crashed writers left a day ago, by the file system's clock. */
async function sweepAbandoned(files: Files, folder: string): Promise<void> {
  const probe = await files.makeOwnDirectory(join(folder, "probe-"));
  const nowMs = (await files.stat(probe))?.modifiedMs ?? 0;
  for (const { name } of await files.list(folder)) {
    const found = await files.stat(join(folder, name)).catch(() => undefined);
    if (found === undefined || nowMs - found.modifiedMs < abandonedMs) continue;
    await files.removeAll(join(folder, name));
  }
  await files.removeDirectory(probe);
}
