/**
 * The write-ahead log: files `<generation>-<index>.wal` of framed records. A record is acknowledged when it is on the
 * disk; all that came while one write was under way share the next (group commit).
 *
 *   W1  Records are on the disk in the order in which they were given.
 *   W2  A file is whole and on the disk before the next is begun, so only the newest can have a torn end.
 *   W3  A frame says how much of its file was on the disk before it was written: a bad record below that is damage,
 *       one above it was never acknowledged.
 *   W4  After a failed write nothing is acknowledged any more: what is on the disk is not known. The owner starts again.
 *
 * Frame: magic, length, CRC-32 of what follows it, bytes of the file known to be on the disk (uint32 each), then the payload.
 */
import { type FileHandle, open, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import { syncDirectory } from "./lake.ts";

/** `always`: on the disk before it is acknowledged. Otherwise a power loss may cost what came in the last `everyMs`. */
export type SyncPolicy = "always" | { readonly everyMs: number };

export const frameBytes = 16;
export const frameMagic = 0x4c_57_50_43; // CPWL
const fileName = /^(\d{1,15})-(\d{1,10})\.wal$/;

export interface WalFile {
  readonly generation: number;
  readonly index: number;
  readonly path: string;
  readonly bytes: number;
}

/** In the order of their records. */
export async function listWalFiles(directory: string): Promise<WalFile[]> {
  const files: WalFile[] = [];
  for (const name of await readdir(directory)) {
    const match = fileName.exec(name);
    if (match === null) continue;
    const path = join(directory, name);
    const { size } = await stat(path);
    files.push({ generation: Number(match[1]), index: Number(match[2]), path, bytes: size });
  }
  return files.sort((a, b) => a.generation - b.generation || a.index - b.index);
}

export interface WalOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly sync: SyncPolicy;
  /** A file is closed when it is longer. */
  readonly fileBytesMax: number;
  /** The files that were replayed; they are deleted with their generations. */
  readonly existing: readonly WalFile[];
}

interface Pending {
  readonly generation: number;
  readonly payload: Uint8Array | undefined;
  /** Whether it waits for the disk whatever the policy. */
  readonly isSync: boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Wal {
  readonly #options: WalOptions;
  #files: { readonly generation: number; readonly path: string; bytes: number }[];
  #nextIndex: number;
  #pending: Pending[] = [];
  #writing: Promise<void> | undefined;
  #open: OpenFile | undefined;
  #failure: OperatingError | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: WalOptions) {
    this.#options = options;
    this.#files = options.existing.map(({ generation, path, bytes }) => ({
      generation,
      path,
      bytes,
    }));
    this.#nextIndex = options.existing.reduce((most, { index }) => Math.max(most, index), -1) + 1;
  }

  get bytes(): number {
    return this.#files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Why nothing is acknowledged any more. */
  get failure(): OperatingError | undefined {
    return this.#failure;
  }

  /** Resolves when it, and all that was given before, is safe. Without a payload it only waits for those. */
  append(generation: number, payload: Uint8Array | undefined): Promise<void> {
    return this.#enqueue(generation, payload, this.#options.sync === "always");
  }

  /** Everything that was given so far is on the disk, whatever the policy. */
  sync(generation: number): Promise<void> {
    return this.#enqueue(generation, undefined, true);
  }

  /** Deletes the files of generations up to this one: their records are in segments. */
  async forget(generation: number): Promise<void> {
    const gone = this.#files.filter((file) => file.generation <= generation);
    const open = this.#open;
    assert(open === undefined || open.generation > generation, "the open file is not forgotten");
    this.#files = this.#files.filter((file) => file.generation > generation);
    // The newest first, each for good: what a crash leaves begins at the beginning, where series are defined.
    for (const { path } of gone.toReversed()) {
      await unlink(path);
      await syncDirectory(this.#options.directory);
    }
  }

  /** What was given is written; later appends are refused. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#writing;
    await this.#closeFile().catch(() => undefined);
  }

  #enqueue(generation: number, payload: Uint8Array | undefined, isSync: boolean): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#isClosed) {
      return Promise.reject(new OperatingError("shutting_down", "never", "the log is closed"));
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ generation, payload, isSync, resolve, reject });
      this.#writing ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        await this.#commit(batch);
        for (const { resolve } of batch) resolve();
      } catch (thrown) {
        this.#fail(thrown, batch);
      }
    }
    this.#writing = undefined;
  }

  /** Runs of one generation are written at once. */
  async #commit(batch: readonly Pending[]): Promise<void> {
    let start = 0;
    while (start < batch.length) {
      const { generation } = batch[start] as Pending;
      let end = start;
      while (batch[end]?.generation === generation) end += 1;
      const payloads = batch.slice(start, end).flatMap(({ payload }) => payload ?? []);
      if (payloads.length > 0) await this.#write(generation, payloads);
      start = end;
    }
    // A file before this one was synced when it was closed. W2
    if (batch.some(({ isSync }) => isSync)) await this.#sync();
    else if (this.#options.sync !== "always") this.#syncLater(this.#options.sync.everyMs);
  }

  async #write(generation: number, payloads: readonly Uint8Array[]): Promise<void> {
    if (this.#open !== undefined && this.#isDone(this.#open, generation)) await this.#closeFile();
    this.#open ??= await this.#openFile(generation);
    const file = this.#open;
    const bytes = frames(payloads, file.syncedBytes);
    await writeAll(file.handle, bytes, file.entry.bytes);
    file.entry.bytes += bytes.length;
  }

  #isDone(file: OpenFile, generation: number): boolean {
    assert(generation >= file.generation, "generations of the log only grow");
    return generation > file.generation || file.entry.bytes >= this.#options.fileBytesMax;
  }

  async #openFile(generation: number): Promise<OpenFile> {
    const name = `${generation}-${String(this.#nextIndex).padStart(6, "0")}.wal`;
    this.#nextIndex += 1;
    const path = join(this.#options.directory, name);
    const handle = await open(path, "wx");
    await syncDirectory(this.#options.directory);
    const entry = { generation, path, bytes: 0 };
    this.#files.push(entry);
    return { generation, handle, entry, syncedBytes: 0 };
  }

  async #closeFile(): Promise<void> {
    const file = this.#open;
    if (file === undefined) return;
    await this.#sync(); // W2
    this.#open = undefined;
    await file.handle.close();
  }

  async #sync(): Promise<void> {
    const file = this.#open;
    if (file === undefined || file.syncedBytes === file.entry.bytes) return;
    const { bytes } = file.entry;
    await file.handle.datasync();
    file.syncedBytes = bytes;
  }

  #syncLater(everyMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = this.#options.clock.after(everyMs, () => {
      this.#timer = undefined;
      // In line with what is written, never beside it. A failure is known from `failure`.
      this.sync(this.#open?.generation ?? 0).catch(() => undefined);
    });
  }

  /** W4. */
  #fail(thrown: unknown, batch: readonly Pending[]): void {
    const isFull = (thrown as NodeJS.ErrnoException).code === "ENOSPC";
    this.#failure ??= new OperatingError(
      isFull ? "disk_full" : "store_unavailable",
      "backoff",
      `the write-ahead log cannot be written: ${messageOf(thrown)}`,
      { cause: thrown },
    );
    for (const { reject } of [...batch, ...this.#pending]) reject(this.#failure);
    this.#pending = [];
  }
}

interface OpenFile {
  readonly generation: number;
  readonly handle: FileHandle;
  readonly entry: { bytes: number };
  syncedBytes: number;
}

function frames(payloads: readonly Uint8Array[], syncedBytes: number): Buffer {
  const length = payloads.reduce((sum, payload) => sum + frameBytes + payload.length, 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const payload of payloads) {
    bytes.writeUInt32LE(frameMagic, at);
    bytes.writeUInt32LE(payload.length, at + 4);
    bytes.writeUInt32LE(syncedBytes, at + 12);
    bytes.set(payload, at + frameBytes);
    const end = at + frameBytes + payload.length;
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 12, end)), at + 8);
    at = end;
  }
  return bytes;
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
