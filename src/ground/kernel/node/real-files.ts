import {
  type BigIntStats,
  closeSync,
  createReadStream,
  createWriteStream,
  type Dirent,
  fstatSync,
  openSync,
  readSync,
} from "node:fs";
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { FileKind, FileReader, Files, OpenFile, OpenMode } from "../files.ts";

const flags: Record<OpenMode, string> = { new: "wx", change: "r+", append: "a" };

/** The machine's disk. */
export const realFiles: Files = {
  async open(path, mode) {
    return new RealFile(await open(path, flags[mode]), mode);
  },
  read: (path) => readFile(path),
  openToRead: (path) => new RealReader(openSync(path, "r")),
  async list(directory) {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
  },
  async stat(path) {
    const found = await stat(path, { bigint: true }).catch((thrown: unknown) => {
      if (isAbsent(thrown)) return undefined;
      throw thrown;
    });
    if (found === undefined) return undefined;
    return {
      kind: kindOf(found),
      bytes: Number(found.size),
      modifiedMs: Number(found.mtimeMs),
      identity: identityOf(found),
    };
  },
  async makeDirectory(path) {
    await mkdir(path, { recursive: true });
  },
  makeOwnDirectory: (prefix) => mkdtemp(prefix),
  rename: (from, to) => rename(from, to),
  async copy(from, to, signal) {
    const options = signal === undefined ? {} : { signal };
    await pipeline(createReadStream(from), createWriteStream(to, { flags: "wx" }), options);
  },
  unlink: (path) => unlink(path),
  removeDirectory: (path) => rmdir(path),
  removeAll: (path) => rm(path, { recursive: true, force: true }),
  async sync(path) {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

class RealFile implements OpenFile {
  readonly #handle: FileHandle;
  readonly #appends: boolean;

  constructor(handle: FileHandle, mode: OpenMode) {
    this.#handle = handle;
    this.#appends = mode === "append";
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const place = this.#appends ? null : at + done;
      done += (await this.#handle.write(bytes, done, bytes.length - done, place)).bytesWritten;
    }
  }

  truncate(length: number): Promise<void> {
    return this.#handle.truncate(length);
  }

  sync(): Promise<void> {
    return this.#handle.datasync();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

class RealReader implements FileReader {
  readonly bytes: number;
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
    this.bytes = fstatSync(fd).size;
  }

  read(into: Uint8Array, at: number): number {
    return readSync(this.#fd, into, 0, into.length, at);
  }

  identity(): string {
    return identityOf(fstatSync(this.#fd, { bigint: true }));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Includes the change time: unlike the modification time, a copying tool cannot set it back. */
function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}.${ino}.${size}.${mtimeNs}.${ctimeNs}`;
}

function kindOf(entry: Pick<Dirent | BigIntStats, "isFile" | "isDirectory">): FileKind {
  if (entry.isFile()) return "file";
  return entry.isDirectory() ? "directory" : "other";
}

/** `ENOTDIR`: a parent in the path is a file, so the path does not exist either. */
function isAbsent(thrown: unknown): boolean {
  const { code } = thrown as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
