/**
 * The lake's files in a directory, which several processes, and through a shared file system several machines, use at once.
 *
 *   DS1  A file appears under its name by one rename, whole and on the disk; the rename is on the disk before `put` says so.
 *   DS2  What is being written is in `.writing/`, on the same file system. What a crash left there goes when it is a
 *        day old by the file system's own clock.
 *   DS3  A directory that a deletion empties goes too. A `put` that this takes a directory from makes it again.
 *   DS4  The lake's own directory is made when the store is opened and never later: a disk that is no longer mounted is an
 *        error, and nothing is written to where it was.
 */
import { createReadStream, createWriteStream, type Dirent } from "node:fs";
import {
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { OperatingError } from "../../kernel/errors.ts";
import type { LocalCopy, ObjectInfo, ObjectStore, Reservation } from "../core/index.ts";
import {
  codeOf,
  damaged,
  isAbsent,
  missing,
  throwIfCancelled,
  translateFileError,
} from "./object-errors.ts";
import { checkObjectPath, checkObjectPrefix, writingFolder } from "./object-path.ts";

const abandonedMs = 24 * 60 * 60 * 1000;
/** How often a directory may be taken from under a `put` (DS3). */
const moveAttemptsMax = 200;

/** Makes the directory when it is absent. */
export async function openDirectoryStore(directory: string): Promise<ObjectStore> {
  const root = resolve(directory);
  try {
    await mkdir(join(root, writingFolder), { recursive: true });
    await sweepAbandoned(join(root, writingFolder));
  } catch (thrown) {
    throw translateFileError(thrown, root);
  }
  return new DirectoryStore(root);
}

class DirectoryStore implements ObjectStore {
  readonly kind = "directory";
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(path: string, localFile: string, signal?: AbortSignal): Promise<void> {
    checkObjectPath(path);
    throwIfCancelled(path, signal);
    try {
      await syncPath(localFile);
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
  }

  async fetch(path: string, sizeBytes: number, signal?: AbortSignal): Promise<LocalCopy> {
    checkObjectPath(path);
    throwIfCancelled(path, signal);
    const info = await this.stat(path);
    if (info === undefined) {
      await this.#checkRoot(); // Not the file is missing, but all of them.
      throw missing(path);
    }
    if (info.sizeBytes !== sizeBytes) {
      throw damaged(path, `it has ${info.sizeBytes} bytes instead of ${sizeBytes}`);
    }
    return { localPath: this.#pathOf(path), release: () => undefined };
  }

  /** Files are read where they are. */
  reserve(): Promise<Reservation> {
    return Promise.resolve({ release: () => undefined });
  }

  async stat(path: string): Promise<ObjectInfo | undefined> {
    checkObjectPath(path);
    try {
      const found = await stat(this.#pathOf(path));
      if (!found.isFile()) return undefined;
      return { path, sizeBytes: found.size, modifiedMs: Math.floor(found.mtimeMs) };
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined;
      throw translateFileError(thrown, path);
    }
  }

  async *list(prefix: string): AsyncGenerator<ObjectInfo> {
    checkObjectPrefix(prefix);
    const slash = prefix.lastIndexOf("/") + 1;
    yield* this.#walk(prefix.slice(0, slash), prefix.slice(slash));
  }

  async delete(paths: readonly string[]): Promise<void> {
    for (const path of paths) checkObjectPath(path); // None is deleted when one is refused.
    for (const path of paths) {
      try {
        const place = this.#pathOf(path);
        const found = await lstat(place);
        if (found.isDirectory()) continue;
        await unlink(place);
        await this.#removeEmpty(path);
      } catch (thrown) {
        if (!isAbsent(thrown)) throw translateFileError(thrown, path);
      }
    }
  }

  /** DS4. */
  async #checkRoot(): Promise<void> {
    try {
      await stat(join(this.#root, writingFolder));
    } catch (thrown) {
      if (!isAbsent(thrown)) throw translateFileError(thrown, this.#root);
      const message = `the lake's directory ${this.#root} is gone`;
      throw new OperatingError("store_unavailable", "backoff", message, { cause: thrown });
    }
  }

  /** `folder` is empty or ends with a slash. */
  async *#walk(folder: string, begin: string): AsyncGenerator<ObjectInfo> {
    for (const entry of await this.#entriesOf(folder)) {
      if (!entry.name.startsWith(begin)) continue;
      const path = folder + entry.name;
      if (path === writingFolder) continue;
      if (entry.isDirectory()) yield* this.#walk(`${path}/`, "");
      else if (entry.isFile()) {
        const info = await this.stat(path);
        if (info !== undefined) yield info;
      }
    }
  }

  async #entriesOf(folder: string): Promise<Dirent[]> {
    try {
      return await readdir(join(this.#root, folder), { withFileTypes: true });
    } catch (thrown) {
      if (!isAbsent(thrown)) throw translateFileError(thrown, folder);
      await this.#checkRoot(); // A folder may have been emptied meanwhile, the lake may not.
      return [];
    }
  }

  /** DS1. */
  async #place(from: string, path: string): Promise<void> {
    const to = this.#pathOf(path);
    await this.#move(from, to);
    try {
      // All the way up: any of them may be new, made by us or a moment ago by somebody else.
      for (let at = dirname(to); at.length >= this.#root.length; at = dirname(at)) {
        await syncPath(at);
        if (at === dirname(at)) break;
      }
    } catch (thrown) {
      if (!isAbsent(thrown)) throw thrown; // It was deleted already, and its directory with it.
    }
  }

  async #move(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await mkdir(dirname(to), { recursive: true });
        await rename(from, to);
        return;
      } catch (thrown) {
        if (codeOf(thrown) !== "ENOENT") throw thrown;
        const isHere = await lstat(from).catch(() => undefined);
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
      folder = await mkdtemp(join(this.#root, writingFolder, "put-")); // DS2
      const copy = join(folder, "file");
      const options = signal === undefined ? {} : { signal };
      await pipeline(createReadStream(localFile), createWriteStream(copy), options);
      await syncPath(copy);
      throwIfCancelled(path, signal);
      await this.#place(copy, path);
    } catch (thrown) {
      throw translateFileError(thrown, path);
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
      await this.#removeEmpty(path); // Those that the move made, when it failed.
    }
  }

  /** DS3. */
  async #removeEmpty(path: string): Promise<void> {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      try {
        await rmdir(join(this.#root, path.slice(0, at)));
      } catch {
        return; // Not empty, or somebody else's turn.
      }
    }
  }

  #pathOf(path: string): string {
    return join(this.#root, path);
  }
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** DS2. Several processes may do it at once. */
async function sweepAbandoned(folder: string): Promise<void> {
  const probe = await mkdtemp(join(folder, "probe-"));
  const { mtimeMs: nowMs } = await stat(probe);
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found === undefined || nowMs - found.mtimeMs < abandonedMs) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
  await rmdir(probe);
}
