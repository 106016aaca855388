/**
 * A simulated disk as one process uses it. Calls take time, may fail, and may be the last before a
 * power loss, which comes before or after the chosen call is done. Calls of an ended life change
 * nothing and are never answered. The disk has limited room; a write that does not fit may be
 * partly written.
 */
import type {
  FileReader,
  FileStat,
  Files,
  OpenFile,
  OpenMode,
} from "../../src/ground/kernel/files.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";
import type { Life } from "../engine/life.ts";
import type { Timeline } from "../engine/timeline.ts";
import { DirectoryNode, type DiskImage, FileNode, type Node, partsOf } from "./disk-image.ts";

/** The kind of a call, for counting and for faults that hit only some kinds. */
export type CallKind = "open" | "write" | "truncate" | "sync" | "names" | "read";

export interface DiskFaults {
  /** The room in bytes; `Infinity` where it does not matter. */
  roomBytes: number;
  /** How many of the next syncs or writes fail with EIO. */
  syncFailures: number;
  writeFailures: number;
}

export interface SimFilesOptions {
  readonly image: DiskImage;
  readonly life: Life;
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly faults: DiskFaults;
  /** Called before each call is done; true causes a power loss. */
  readonly onCall: (kind: CallKind, path: string) => boolean;
  readonly onFault: (name: string) => void;
  /** Ends the life, and everything else that loses power. */
  readonly losePower: () => void;
}

export class SimFiles implements Files {
  readonly #options: SimFilesOptions;
  #ownNext = 1;

  constructor(options: SimFilesOptions) {
    this.#options = options;
  }

  open(path: string, mode: OpenMode): Promise<OpenFile> {
    return this.#call("open", path, () => {
      const { directory, name } = this.#placeOf(path);
      const found = directory.entries.get(name);
      if (found === undefined) {
        if (mode === "change") throw failure("ENOENT", path);
        this.#requireRoom(path, 1);
        const node = this.#stamped(new FileNode());
        this.#options.image.changeNames([{ directory, name, node }]);
        return new SimFile(this, path, node, mode);
      }
      if (mode === "new") throw failure("EEXIST", path);
      if (found instanceof DirectoryNode) throw failure("EISDIR", path);
      return new SimFile(this, path, found, mode);
    });
  }

  read(path: string): Promise<Buffer> {
    return this.#call("read", path, () => Buffer.from(this.#fileOf(path).content));
  }

  openToRead(path: string): FileReader {
    const { content } = this.#fileOf(path);
    return {
      bytes: content.length,
      read: (into, at) => content.copy(into, 0, at, Math.min(content.length, at + into.length)),
      close: () => undefined,
    };
  }

  list(path: string): Promise<readonly { name: string; kind: Node["kind"] }[]> {
    return this.#call("read", path, () =>
      Array.from(this.#directoryOf(path).entries, ([name, { kind }]) => ({ name, kind })),
    );
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#call("read", path, () => {
      const node = this.#options.image.find(path);
      if (node === undefined) return undefined;
      const bytes = node instanceof FileNode ? node.content.length : 0;
      return { kind: node.kind, bytes, modifiedMs: node.modifiedMs };
    });
  }

  makeDirectory(path: string): Promise<void> {
    return this.#call("names", path, () => {
      let at = this.#options.image.root;
      for (const name of partsOf(path)) {
        let next = at.entries.get(name);
        if (next === undefined) {
          this.#requireRoom(path, 1);
          next = this.#stamped(new DirectoryNode());
          this.#options.image.changeNames([{ directory: at, name, node: next }]);
        }
        if (!(next instanceof DirectoryNode)) throw failure("ENOTDIR", path);
        at = next;
      }
    });
  }

  async makeOwnDirectory(prefix: string): Promise<string> {
    const path = `${prefix}${this.#options.life.number}-${this.#ownNext}`;
    this.#ownNext += 1;
    await this.makeDirectory(path);
    return path;
  }

  rename(from: string, to: string): Promise<void> {
    return this.#call("names", to, () => {
      const source = this.#placeOf(from);
      const node = source.directory.entries.get(source.name);
      if (node === undefined) throw failure("ENOENT", from);
      const target = this.#placeOf(to);
      const there = target.directory.entries.get(target.name);
      if (there instanceof DirectoryNode && there.entries.size > 0) throw failure("ENOTEMPTY", to);
      this.#options.image.changeNames([
        { ...source, node: undefined },
        { ...target, node },
      ]);
    });
  }

  copy(from: string, to: string): Promise<void> {
    return this.#call("write", to, () => {
      const { directory, name } = this.#placeOf(to);
      if (directory.entries.has(name)) throw failure("EEXIST", to);
      const { content } = this.#fileOf(from);
      const node = this.#stamped(new FileNode());
      this.#options.image.changeNames([{ directory, name, node }]);
      this.writeTo(to, node, content, 0);
    });
  }

  unlink(path: string): Promise<void> {
    return this.#call("names", path, () => {
      const { directory, name } = this.#placeOf(path);
      const found = directory.entries.get(name);
      if (found === undefined) throw failure("ENOENT", path);
      if (found instanceof DirectoryNode) throw failure("EISDIR", path);
      this.#options.image.changeNames([{ directory, name, node: undefined }]);
      this.#options.faults.roomBytes += found.content.length + 1;
    });
  }

  removeDirectory(path: string): Promise<void> {
    return this.#call("names", path, () => {
      if (this.#directoryOf(path).entries.size > 0) throw failure("ENOTEMPTY", path);
      this.#options.image.changeNames([{ ...this.#placeOf(path), node: undefined }]);
    });
  }

  /** Removes name by name, as `rm -r` does: a power loss may come in between. */
  async removeAll(path: string): Promise<void> {
    const found = await this.stat(path);
    if (found === undefined) return;
    if (found.kind !== "directory") {
      await this.unlink(path);
      return;
    }
    for (const { name } of await this.list(path)) await this.removeAll(`${path}/${name}`);
    await this.removeDirectory(path);
  }

  sync(path: string): Promise<void> {
    return this.#call("sync", path, () => {
      const node = this.#options.image.find(path);
      if (node === undefined) throw failure("ENOENT", path);
      if (node instanceof FileNode) this.syncNode(path, node);
      else {
        this.#failSyncMaybe(path);
        this.#options.image.syncNames(node);
      }
    });
  }

  /** For open files. */
  callOn<T>(kind: CallKind, path: string, run: () => T): Promise<T> {
    return this.#call(kind, path, run);
  }

  writeTo(path: string, node: FileNode, bytes: Uint8Array, at: number): void {
    const { faults, prng, onFault } = this.#options;
    this.#stamped(node);
    const grows = Math.max(0, at + bytes.length - node.content.length);
    const isFull = grows > faults.roomBytes;
    const isBroken = !isFull && faults.writeFailures > 0;
    const length = isFull || isBroken ? prng.below(bytes.length) : bytes.length;
    const written = Buffer.from(bytes.subarray(0, length));
    if (written.length > 0) node.change({ kind: "write", at, bytes: written });
    if (!isFull) faults.roomBytes -= grows;
    if (isBroken) faults.writeFailures -= 1;
    if (isFull || isBroken) onFault(isFull ? "write: no room" : "write: failed");
    if (isFull || isBroken) throw failure(isFull ? "ENOSPC" : "EIO", path);
  }

  truncateTo(node: FileNode, length: number): void {
    this.#options.faults.roomBytes += Math.max(0, node.content.length - length);
    node.change({ kind: "truncate", length });
  }

  syncNode(path: string, node: FileNode): void {
    this.#failSyncMaybe(path, () => node.failSync(this.#options.prng));
    node.sync();
  }

  #failSyncMaybe(path: string, happens?: () => void): void {
    const { faults, onFault } = this.#options;
    if (faults.syncFailures === 0) return;
    faults.syncFailures -= 1;
    onFault(happens === undefined ? "sync of a directory: failed" : "sync of a file: failed");
    happens?.();
    throw failure("EIO", path);
  }

  #stamped<T extends Node>(node: T): T {
    node.modifiedMs = this.#options.life.wallMs();
    return node;
  }

  #requireRoom(path: string, bytes: number): void {
    const { faults, onFault } = this.#options;
    if (faults.roomBytes >= bytes) {
      faults.roomBytes -= bytes;
      return;
    }
    onFault("name: no room");
    throw failure("ENOSPC", path);
  }

  #fileOf(path: string): FileNode {
    const node = this.#options.image.find(path);
    if (node === undefined) throw failure("ENOENT", path);
    if (node instanceof DirectoryNode) throw failure("EISDIR", path);
    return node;
  }

  #directoryOf(path: string): DirectoryNode {
    const node = this.#options.image.find(path);
    if (node === undefined) throw failure("ENOENT", path);
    if (!(node instanceof DirectoryNode)) throw failure("ENOTDIR", path);
    return node;
  }

  #placeOf(path: string): { readonly directory: DirectoryNode; readonly name: string } {
    const parts = partsOf(path);
    const directory = this.#directoryOf(`/${parts.slice(0, -1).join("/")}`);
    return { directory, name: parts.at(-1) ?? "" };
  }

  /** Done at one moment, answered later. */
  #call<T>(kind: CallKind, path: string, run: () => T): Promise<T> {
    const { life, timeline, prng, onCall, losePower } = this.#options;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        timeline.after(prng.next() * 0.5, () => life.receive(settle));
      };
      timeline.after(prng.next() * (kind === "sync" ? 8 : 0.5), () => {
        if (life.isDown) return;
        const isLast = onCall(kind, path);
        if (isLast && prng.next() < 0.5) return losePower();
        try {
          const result = run();
          answer(() => resolve(result));
        } catch (thrown) {
          answer(() => reject(thrown));
        }
        if (isLast) losePower();
      });
    });
  }
}

class SimFile implements OpenFile {
  readonly #files: SimFiles;
  readonly #path: string;
  readonly #node: FileNode;
  readonly #mode: OpenMode;

  constructor(files: SimFiles, path: string, node: FileNode, mode: OpenMode) {
    this.#files = files;
    this.#path = path;
    this.#node = node;
    this.#mode = mode;
  }

  write(bytes: Uint8Array, at: number): Promise<void> {
    const copy = Buffer.from(bytes); // The caller may change them.
    return this.#files.callOn("write", this.#path, () => {
      const place = this.#mode === "append" ? this.#node.content.length : at;
      this.#files.writeTo(this.#path, this.#node, copy, place);
    });
  }

  truncate(length: number): Promise<void> {
    return this.#files.callOn("truncate", this.#path, () =>
      this.#files.truncateTo(this.#node, length),
    );
  }

  sync(): Promise<void> {
    return this.#files.callOn("sync", this.#path, () =>
      this.#files.syncNode(this.#path, this.#node),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, syscall: "simulated", path });
}
