/**
 * Copies of a remote lake's files on this worker's disk, as tenant `parquet_cache` of its disk
 * budget. A file of the lake never changes, so a copy stays valid.
 *
 * A file has one download at a time, however many wait for it; it is aborted when nobody waits any
 * more. A copy appears under its name by one rename, once it is on the disk and verified. It is
 * verified again when this process first uses it and after it was written to; a wrong one is
 * fetched again.
 *
 * The budget counts a copy before its download begins. A copy in use is pinned. The least recently
 * used copies are evicted first, also across restarts. Room for several files is given for all or
 * none, in order of arrival, and whoever waits holds none. Only our own files are deleted, whatever
 * `dir` points at.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Files } from "../../../ground/kernel/files.ts";
import type { LogFields, Logger } from "../../../ground/kernel/logger.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import type { DiskBudget, Eviction } from "../../../ground/work/core/index.ts";
import type { LocalCopy, Reservation } from "../core/index.ts";
import { FileVerifier } from "./file-verifier.ts";
import {
  cancelled,
  damaged,
  isAbsent,
  otherChecksum,
  throwIfCancelled,
  translateFileError,
} from "./object-errors.ts";
import { RoomQueue } from "./room-queue.ts";

export interface WantedFile {
  /** Identifies the file among all files of all lakes. */
  readonly key: string;
  /** The file's name in messages. */
  readonly place: string;
  readonly sizeBytes: number;
  /** The checksum that the file must have; absent while unknown. */
  readonly crc32?: number;
  /** Who wants the file, for log lines. */
  readonly fields?: LogFields;
}

/** Writes the whole file to a new path and syncs it, or throws. */
export type Download = (localPath: string, signal: AbortSignal) => Promise<void>;

export interface FileCache {
  get(file: WantedFile, download: Download, signal?: AbortSignal): Promise<LocalCopy>;
  /** Reserves room for all files, whoever downloads them. */
  reserve(files: readonly WantedFile[], signal?: AbortSignal): Promise<Reservation>;
}

export interface DownloadObserver {
  /** `hit` when the copy was complete. Waiting for another caller's download is a miss. */
  lookedUp(hit: boolean): void;
  downloadEnded(outcome: "done" | "failed" | "cancelled", durationMs: number, bytes: number): void;
}

export const silentDownloadObserver: DownloadObserver = {
  lookedUp: () => undefined,
  downloadEnded: () => undefined,
};

export interface DownloadCacheOptions {
  /** Used by this process alone. */
  readonly dir: string;
  readonly budget: DiskBudget;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each eviction from another tenant. */
  readonly onEvictedOther?: (eviction: Eviction) => void;
  readonly observer?: DownloadObserver;
  readonly verifier?: FileVerifier;
  /** How long to wait for room that others hold. */
  readonly roomMsMax?: number;
}

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  /** Aborts its download. */
  readonly abandon: AbortController;
  /** Rejects when the download failed. Undefined while there is only room reserved. */
  complete: Promise<void> | undefined;
  isComplete: boolean;
  pins: number;
  /** When its use was last recorded on the disk. */
  touchedMs: number;
}

const tenant = "parquet_cache";
const copyPattern = /^[0-9a-f]{40}-(\d{1,16})(?:\.[a-z0-9]{1,10}){0,2}$/;
const partPattern = /^[0-9a-f]{40}-\d{1,16}(?:\.[a-z0-9]{1,10}){0,2}\.\d+\.part$/;
/** Minutes are exact enough for the eviction order after a restart. */
const touchEveryMs = 60_000;
const roomMsMaxDefault = 60_000;

/** Takes over the copies that an earlier process left in `dir`. */
export async function openDownloadCache(options: DownloadCacheOptions): Promise<DownloadCache> {
  const cache = new DownloadCache(options);
  try {
    await mkdir(options.dir, { recursive: true });
    await cache.restore();
  } catch (thrown) {
    throw translateFileError(thrown, options.dir);
  }
  return cache;
}

export class DownloadCache implements FileCache {
  readonly #dir: string;
  readonly #budget: DiskBudget;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onEvictedOther: (eviction: Eviction) => void;
  readonly #observer: DownloadObserver;
  readonly #room: RoomQueue;
  readonly #verifier: FileVerifier;
  /** Least recently used first: a `Map` keeps the order of insertion. */
  readonly #entries = new Map<string, Entry>();
  readonly #downloads = new Set<Promise<void>>();
  /** Deletions under way by file name. */
  readonly #deletions = new Map<string, Promise<void>>();
  #partNext = 1;

  constructor(options: DownloadCacheOptions) {
    this.#dir = options.dir;
    this.#budget = options.budget;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onEvictedOther = options.onEvictedOther ?? (() => undefined);
    this.#observer = options.observer ?? silentDownloadObserver;
    this.#verifier = options.verifier ?? new FileVerifier({ files: copiesOnDisk });
    this.#room = new RoomQueue(options.clock, options.roomMsMax ?? roomMsMaxDefault);
  }

  usedBytes(): number {
    return this.#budget.usage().byTenant.parquet_cache;
  }

  async get(file: WantedFile, download: Download, signal?: AbortSignal): Promise<LocalCopy> {
    for (;;) {
      throwIfCancelled(file.place, signal);
      const found = this.#entries.get(nameOf(file));
      const wasComplete = found?.isComplete === true;
      const entry = found ?? this.#admit(file);
      this.#pin(entry);
      try {
        entry.complete ??= this.#start(entry, file, download);
        await settledOrAborted(entry.complete, file.place, signal);
        const isGood = !wasComplete || (await this.#isSound(entry, file));
        if (isGood) {
          this.#observer.lookedUp(wasComplete);
          return this.#lend(entry);
        }
      } catch (thrown) {
        this.#unpin(entry);
        throw thrown;
      }
      const fields = { ...file.fields, file: file.place };
      this.#logger.warn(fields, "a copy was changed behind the cache's back");
      this.#drop(entry);
      this.#unpin(entry);
    }
  }

  async reserve(files: readonly WantedFile[], signal?: AbortSignal): Promise<Reservation> {
    const wanted = [...new Map(files.map((file) => [nameOf(file), file])).values()];
    const [first] = wanted;
    if (first === undefined) return { release: () => undefined };
    const sizeBytes = wanted.reduce((sum, file) => sum + file.sizeBytes, 0);
    const shareBytes = this.#budget.shareBytesMax(tenant);
    if (sizeBytes > shareBytes) throw tooLarge(wanted.length, sizeBytes, shareBytes);
    throwIfCancelled(first.place, signal);
    const held = await this.#room.take(() => this.#tryHold(wanted), signal);
    if (held === undefined) {
      throwIfCancelled(first.place, signal);
      throw noRoom({ ...first, sizeBytes }, this.#budget.roomBytesMax(tenant));
    }
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        for (const entry of held) this.#unpin(entry);
      },
    };
  }

  /** Called by the other tenants when the budget has evicted an entry. */
  evicted({ tenant: whose, name }: Eviction): void {
    if (whose !== tenant) return;
    this.#entries.delete(name);
    this.#delete(name);
  }

  /** Resolves when every deletion under way is done. */
  async settled(): Promise<void> {
    while (this.#deletions.size > 0) await Promise.all(this.#deletions.values());
  }

  /** Aborts downloads. Complete copies stay for the next start. */
  async close(): Promise<void> {
    for (const entry of [...this.#entries.values()]) if (!entry.isComplete) this.#drop(entry);
    await Promise.allSettled(this.#downloads);
    await this.settled();
  }

  /** Called once, before anything else. */
  async restore(): Promise<void> {
    const kept: { readonly name: string; readonly sizeBytes: number; readonly usedMs: number }[] =
      [];
    for (const name of await readdir(this.#dir)) {
      const isPart = partPattern.test(name);
      if (isPart) this.#delete(name);
      const sizeText = isPart ? undefined : copyPattern.exec(name)?.[1];
      if (sizeText === undefined) continue;
      const { size, mtimeMs, atimeMs } = await stat(join(this.#dir, name));
      const usedMs = Math.max(mtimeMs, atimeMs);
      if (size === Number(sizeText)) kept.push({ name, sizeBytes: size, usedMs });
      else this.#delete(name);
    }
    kept.sort((left, right) => left.usedMs - right.usedMs);
    for (const { name, sizeBytes } of kept) {
      const admission = this.#budget.admit(tenant, name, sizeBytes);
      if (admission.kind === "refused") {
        this.#delete(name);
        continue;
      }
      const entry = this.#newEntry(name, sizeBytes);
      this.#entries.set(name, { ...entry, complete: Promise.resolve(), isComplete: true });
      this.#evict(admission.evict);
    }
    await this.settled();
  }

  /** Pins all of them. Undefined, with nothing changed, when there is no room. */
  #tryHold(files: readonly WantedFile[]): readonly Entry[] | undefined {
    const present = files.flatMap((file) => this.#entries.get(nameOf(file)) ?? []);
    for (const entry of present) this.#pin(entry); // Keep these while making room for the rest.
    const absent = files.filter((file) => !this.#entries.has(nameOf(file)));
    const sizeBytes = absent.reduce((sum, file) => sum + file.sizeBytes, 0);
    if (sizeBytes > this.#budget.roomBytesMax(tenant)) {
      for (const entry of present) this.#letGo(entry);
      return undefined;
    }
    const admitted = absent.map((file) => {
      const entry = this.#admit(file);
      this.#pin(entry);
      return entry;
    });
    return [...present, ...admitted];
  }

  #admit(file: WantedFile): Entry {
    const name = nameOf(file);
    const admission = this.#budget.admit(tenant, name, file.sizeBytes);
    if (admission.kind === "refused") throw noRoom(file, admission.roomBytesMax);
    this.#evict(admission.evict);
    const entry = this.#newEntry(name, file.sizeBytes);
    this.#entries.set(name, entry);
    return entry;
  }

  #start(entry: Entry, file: WantedFile, download: Download): Promise<void> {
    const complete = this.#run(entry, file, download);
    const ended = complete
      .catch(() => undefined) // Waiters get the error; all may have left.
      .finally(() => this.#downloads.delete(ended));
    this.#downloads.add(ended);
    return complete;
  }

  #newEntry(name: string, sizeBytes: number): Entry {
    return {
      name,
      path: join(this.#dir, name),
      sizeBytes,
      abandon: new AbortController(),
      complete: undefined,
      isComplete: false,
      pins: 0,
      touchedMs: this.#clock.nowMs(),
    };
  }

  async #run(entry: Entry, file: WantedFile, download: Download): Promise<void> {
    const { place, crc32 } = file;
    const startMs = this.#clock.nowMs();
    const { signal } = entry.abandon;
    const part = `${entry.path}.${this.#partNext}.part`;
    this.#partNext += 1;
    try {
      await this.#fetchTo(part, entry, file, download);
      const { size } = await stat(part);
      if (size !== entry.sizeBytes) {
        throw damaged(place, `it has ${size} bytes instead of ${entry.sizeBytes}`);
      }
      await settleTimes(part);
      if (crc32 !== undefined) {
        const found = await this.#verifier.read(part);
        this.#verifier.forget(part); // It gets another name.
        if (found !== crc32) throw otherChecksum(place, crc32, found);
      }
      await this.#deletions.get(entry.name); // A deletion under way must not hit this one.
      throwIfCancelled(place, signal);
      await rename(part, entry.path);
      entry.isComplete = true;
    } catch (thrown) {
      await rm(part, { force: true }).catch(() => undefined);
      this.#drop(entry);
      const outcome = signal.aborted && !isOwn(thrown) ? "cancelled" : "failed";
      this.#observer.downloadEnded(outcome, this.#clock.nowMs() - startMs, entry.sizeBytes);
      throw translateFileError(thrown, place);
    }
    // A copy abandoned during the rename is no longer counted, so its file is deleted, unless
    // another download is about to replace it.
    if (!this.#entries.has(entry.name)) this.#delete(entry.name);
    this.#observer.downloadEnded("done", this.#clock.nowMs() - startMs, entry.sizeBytes);
  }

  async #fetchTo(
    part: string,
    entry: Entry,
    { place, fields }: WantedFile,
    download: Download,
  ): Promise<void> {
    const { signal } = entry.abandon;
    try {
      await download(part, signal);
    } catch (thrown) {
      if (!isDiskFull(thrown) || !this.#makeRoom(entry.sizeBytes)) throw thrown;
      this.#logger.warn(
        { ...fields, file: place, size_bytes: entry.sizeBytes },
        "the disk is full: made room in the cache",
      );
      await rm(part, { force: true });
      await this.settled();
      await download(part, signal);
    }
  }

  /** Evicts unpinned copies. False when there was none. */
  #makeRoom(sizeBytes: number): boolean {
    let freedBytes = 0;
    for (const entry of [...this.#entries.values()]) {
      if (freedBytes >= sizeBytes) break;
      if (entry.pins > 0) continue;
      this.#drop(entry);
      freedBytes += entry.sizeBytes;
    }
    return freedBytes > 0;
  }

  #lend(entry: Entry): LocalCopy {
    this.#used(entry);
    let isHeld = true;
    return {
      localPath: entry.path,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#used(entry);
        this.#unpin(entry);
      },
    };
  }

  #pin(entry: Entry): void {
    entry.pins += 1;
    if (entry.pins === 1) assert(this.#budget.pin(tenant, entry.name), "what is here is counted");
  }

  #unpin(entry: Entry): void {
    this.#letGo(entry);
    this.#room.wake();
  }

  #letGo(entry: Entry): void {
    entry.pins -= 1;
    if (entry.pins > 0 || !this.#isCurrent(entry)) return;
    this.#budget.unpin(tenant, entry.name);
    if (!entry.isComplete) this.#drop(entry);
  }

  #used(entry: Entry): void {
    if (!this.#isCurrent(entry)) return;
    this.#budget.touch(tenant, entry.name);
    this.#entries.delete(entry.name);
    this.#entries.set(entry.name, entry);
    if (this.#clock.nowMs() - entry.touchedMs < touchEveryMs) return;
    entry.touchedMs = this.#clock.nowMs();
    const wall = new Date(this.#clock.wallMs());
    touch(entry.path, wall).catch(() => undefined); // Only affects the order after a restart.
  }

  #drop(entry: Entry): void {
    if (!this.#isCurrent(entry)) return;
    this.#entries.delete(entry.name);
    this.#budget.remove(tenant, entry.name);
    entry.abandon.abort();
    this.#delete(entry.name);
  }

  #isCurrent(entry: Entry): boolean {
    return this.#entries.get(entry.name) === entry;
  }

  async #isSound({ path, sizeBytes }: Entry, { crc32 }: WantedFile): Promise<boolean> {
    try {
      if ((await stat(path)).size !== sizeBytes) return false;
      return crc32 === undefined || (await this.#verifier.mismatch(path, crc32)) === undefined;
    } catch (thrown) {
      if (isAbsent(thrown)) return false;
      throw translateFileError(thrown, path);
    }
  }

  #evict(evictions: readonly Eviction[]): void {
    for (const eviction of evictions) {
      if (eviction.tenant === tenant) this.evicted(eviction);
      else this.#onEvictedOther(eviction);
    }
  }

  /** Runs after earlier deletions of that name. */
  #delete(name: string): void {
    const before = this.#deletions.get(name) ?? Promise.resolve();
    const deletion = before
      .then(() => rm(join(this.#dir, name), { force: true }))
      .catch((thrown: unknown) => {
        this.#logger.warn({ copy: name }, `not deleted: ${messageOf(thrown)}`);
      })
      .finally(() => {
        if (this.#deletions.get(name) === deletion) this.#deletions.delete(name);
      });
    this.#deletions.set(name, deletion);
  }
}

/**
 * The access time records when a copy was last used; we set it. The modification time stays, in
 * whole seconds, so that a use does not look like a change. The change time is therefore ignored.
 */
const copiesOnDisk: Files = {
  ...realFiles,
  async stat(path) {
    const found = await realFiles.stat(path);
    if (found === undefined) return undefined;
    const identity = found.identity?.split(".").slice(0, -1).join(".") ?? "";
    return { ...found, identity };
  },
};

async function settleTimes(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  const seconds = Math.floor(mtimeMs / 1000);
  await utimes(path, seconds, seconds);
}

async function touch(path: string, wall: Date): Promise<void> {
  await utimes(path, wall, Math.floor((await stat(path)).mtimeMs / 1000));
}

/** Has the size, to check a copy after a restart, and the ending that tells the format. */
function nameOf({ key, place, sizeBytes }: WantedFile): string {
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 40);
  const [ending = ""] = /(?:\.[A-Za-z0-9]{1,10}){1,2}$/.exec(place) ?? [];
  return `${digest}-${sizeBytes}${ending.toLowerCase()}`;
}

/** A cancelled waiter leaves; the others keep waiting. */
function settledOrAborted(
  promise: Promise<void>,
  place: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(cancelled(place));
    signal.addEventListener("abort", leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function isDiskFull(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code === "disk_full";
}

/** Whether the download itself failed, as opposed to being cancelled. */
function isOwn(thrown: unknown): boolean {
  return thrown instanceof OperatingError && thrown.code !== "cancelled";
}

function tooLarge(files: number, sizeBytes: number, shareBytes: number): OperatingError {
  const message = `it reads ${files} files of ${sizeBytes} bytes at once, and this worker keeps ${shareBytes} at the most`;
  return new OperatingError("query_too_large", "never", message, {
    hint: "Give the workers more with --disk-limit.",
  });
}

function noRoom({ place, sizeBytes }: WantedFile, roomBytesMax: number): OperatingError {
  const message = `no room for ${place}, ${sizeBytes} bytes: ${roomBytesMax} could be made free`;
  return new OperatingError("disk_full", "backoff", message, {
    hint: "Give the worker more with --disk-limit.",
  });
}
