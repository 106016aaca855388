/**
 * Artifacts on this worker's disk, and small ones in its memory.
 *
 *   <base>/spool-<incarnation>/writing/   where executors write; DuckDB may touch this directory
 *   <base>/spool-<incarnation>/ready/     complete artifacts, which DuckDB may not touch
 *
 * Rules: QU5, QU6 and QU24. A name is looked up in memory, which begins empty, and a complete
 * artifact moves to `ready` in one step. Only entries with our own names are ever deleted, whatever
 * `baseDir` points at. A small artifact is kept in memory while there is room, after evicting
 * acknowledged ones there; otherwise it is written to disk.
 */
import { statfsSync } from "node:fs";
import { mkdir, readdir, rename, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { assert, messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Incarnation } from "../../kernel/ids.ts";
import type { LogFields, Logger } from "../../kernel/logger.ts";
import { keyOf, type WorkKey, workLogFields } from "../core/assignment/index.ts";
import {
  type ArtifactSpool,
  DiskBudget,
  defaultDiskRatios,
  type Eviction,
  type SpooledFile,
  type SpoolSlot,
  type SpoolUsage,
} from "../core/index.ts";
import { translateFsError } from "./fs-error.ts";

export interface FsSpoolOptions {
  /** Belongs to this worker alone; its incarnations use it one after the other. */
  readonly baseDir: string;
  readonly incarnation: Incarnation;
  readonly capacityBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The size limit of an artifact. Default: half of the capacity. */
  readonly artifactBytesMax?: number;
  /** Shared with caches; created from `capacityBytes` when absent. */
  readonly budget?: DiskBudget;
  /** A directory on another file system for small artifacts while the disk is full. QU24 */
  readonly overflowDir?: string;
  /** The free bytes of the disk; asks the file system when absent. */
  readonly diskFreeBytes?: () => number;
  /** Called with evictions of other tenants of a shared budget. */
  readonly onEvictedOther?: (eviction: Eviction) => void;
}

export interface FsArtifactSpool extends ArtifactSpool {
  /** Where executors write: the `spoolDir` of `startEngine`. */
  readonly writeDir: string;
  /** Resolves when every deletion under way is done. */
  settled(): Promise<void>;
  /** Deletes this incarnation's directory. */
  close(): Promise<void>;
}

const ownDirPattern = /^spool-[A-Za-z0-9_.-]+$/;
const diskCheckMs = 250;
/** A disk with less room counts as full. QU24 */
const fullBytes = 1024 * 1024;
/** The limit of all artifacts in the overflow, which may be memory. */
const overflowBytesMax = 64 * 1024 * 1024;
/** The limits of one artifact in memory, and of all together. */
const memoryBytesMax = { each: 1024 * 1024, all: 8 * 1024 * 1024 };

export async function openFsArtifactSpool(options: FsSpoolOptions): Promise<FsArtifactSpool> {
  const { baseDir, incarnation, logger } = options;
  const dirName = `spool-${incarnation.replaceAll(":", "_")}`;
  const ownDir = join(baseDir, dirName);
  try {
    await mkdir(baseDir, { recursive: true });
    for (const entry of await readdir(baseDir)) {
      if (!ownDirPattern.test(entry)) continue;
      await rm(join(baseDir, entry), { recursive: true, force: true }); // QU6
      logger.info({ directory: entry }, "deleted what an earlier incarnation left in the spool");
    }
    await mkdir(join(ownDir, "writing"), { recursive: true });
    await mkdir(join(ownDir, "ready"), { recursive: true });
    if (options.overflowDir !== undefined) {
      await mkdir(join(options.overflowDir, "writing"), { recursive: true });
      await mkdir(join(options.overflowDir, "ready"), { recursive: true });
    }
  } catch (thrown) {
    throw translateFsError(thrown);
  }
  return new DirectorySpool(ownDir, dirName, options);
}

interface Entry {
  readonly name: string;
  readonly key: WorkKey;
  readonly writePath: string;
  readonly readyPath: string;
  sizeBytes: number;
  /** The bytes of an artifact in memory, which has no file. */
  bytes: Uint8Array | undefined;
  state: "writing" | "moving" | "ready";
}

class DirectorySpool implements FsArtifactSpool {
  readonly writeDir: string;
  readonly #ownDir: string;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #budget: DiskBudget;
  readonly #artifactBytesMax: number;
  readonly #onEvictedOther: (eviction: Eviction) => void;
  readonly #entries = new Map<string, Entry>();
  readonly #deletions = new Set<Promise<void>>();
  readonly #measure: () => number;
  readonly #overflowDir: string | undefined;
  /** Names of acknowledged artifacts in memory, in order of acknowledgement. */
  readonly #ackedInMemory = new Set<string>();
  #memoryBytes = 0;
  #listener: (name: string) => void = () => undefined;
  #diskFreeBytes = Number.MAX_SAFE_INTEGER;
  #diskCheckedMs = Number.NEGATIVE_INFINITY;
  #nameNext = 1;

  constructor(ownDir: string, dirName: string, options: FsSpoolOptions) {
    const { capacityBytes } = options;
    this.#ownDir = ownDir;
    this.writeDir = join(ownDir, "writing");
    this.#prefix = dirName.slice("spool-".length);
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#artifactBytesMax = options.artifactBytesMax ?? Math.floor(capacityBytes / 2);
    this.#overflowDir = options.overflowDir;
    this.#measure = options.diskFreeBytes ?? (() => freeBytesOf(ownDir));
    this.#onEvictedOther = options.onEvictedOther ?? (() => undefined);
    this.#budget =
      options.budget ??
      new DiskBudget({ capacityBytes, artifactFloorBytes: capacityBytes, ...defaultDiskRatios });
  }

  reserve(key: WorkKey): SpoolSlot {
    this.#checkDisk(workLogFields(key)); // QU24
    const overflow = this.#overflow();
    const diskBytes = overflow === undefined ? this.#diskFreeBytes : overflow.roomBytes;
    const roomBytes = Math.min(this.#budget.roomBytesMax("artifacts"), diskBytes);
    if (roomBytes <= 0) throw diskFull("the artifact spool is full");
    const name = `${this.#prefix}-${this.#nameNext}.parquet`;
    this.#nameNext += 1;
    const entry: Entry = {
      name,
      key: keyOf(key),
      writePath: join(overflow === undefined ? this.writeDir : join(overflow.dir, "writing"), name),
      readyPath: join(overflow?.dir ?? this.#ownDir, "ready", name),
      sizeBytes: 0,
      bytes: undefined,
      state: "writing",
    };
    this.#entries.set(name, entry);
    const bytesMax = Math.min(this.#artifactBytesMax, overflow?.roomBytes ?? Infinity);
    return { name, path: entry.writePath, bytesMax };
  }

  /** QU24. Undefined when artifacts go to the disk. */
  #overflow(): { readonly dir: string; readonly roomBytes: number } | undefined {
    const dir = this.#overflowDir;
    if (dir === undefined || this.#diskFreeBytes >= fullBytes) return undefined;
    let usedBytes = 0;
    for (const { writePath, sizeBytes } of this.#entries.values()) {
      if (writePath.startsWith(dir)) usedBytes += sizeBytes;
    }
    return { dir, roomBytes: overflowBytesMax - usedBytes };
  }

  async commit(name: string, sizeBytes: number, bytes?: Uint8Array): Promise<void> {
    const entry = this.#entries.get(name);
    assert(entry?.state === "writing", "a slot is committed once");
    const admission = this.#budget.admit("artifacts", name, sizeBytes);
    if (admission.kind === "refused") {
      this.remove(name);
      const room = `${admission.roomBytesMax} bytes could be made free`;
      throw diskFull(`the artifact spool has no room for ${sizeBytes} bytes: ${room}`);
    }
    for (const eviction of admission.evict) this.#evict(eviction);
    entry.sizeBytes = sizeBytes;
    if (bytes !== undefined && this.#hasMemoryFor(sizeBytes)) {
      this.#memoryBytes += sizeBytes;
      entry.bytes = bytes;
      entry.state = "ready";
      return;
    }
    entry.state = "moving";
    try {
      if (bytes !== undefined) await writeFile(entry.writePath, bytes);
      await rename(entry.writePath, entry.readyPath); // QU5
    } catch (thrown) {
      this.remove(name);
      throw translateFsError(thrown);
    }
    if (this.#entries.get(name) === entry) entry.state = "ready";
    else this.#delete(entry, entry.readyPath); // Removed meanwhile.
  }

  /** Evicts acknowledged artifacts from memory. Returns whether there is enough room. */
  #hasMemoryFor(sizeBytes: number): boolean {
    const { each, all } = memoryBytesMax;
    if (sizeBytes > each) return false;
    for (const name of this.#ackedInMemory) {
      if (this.#memoryBytes + sizeBytes <= all) break;
      this.#drop(name);
    }
    return this.#memoryBytes + sizeBytes <= all;
  }

  release(name: string, reason: "acked" | "expired"): void {
    this.#budget.release(name, reason);
    if (reason === "acked" && this.#entries.get(name)?.bytes) this.#ackedInMemory.add(name);
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#budget.remove("artifacts", name);
    if (entry.bytes !== undefined) {
      this.#memoryBytes -= entry.sizeBytes;
      this.#ackedInMemory.delete(name);
      return;
    }
    if (entry.state !== "ready") this.#delete(entry, entry.writePath);
    if (entry.state !== "writing") this.#delete(entry, entry.readyPath);
  }

  stat(name: string): SpooledFile | undefined {
    const entry = this.#entries.get(name);
    if (entry?.state !== "ready") return undefined;
    const { bytes, readyPath, sizeBytes, key } = entry;
    return { content: bytes ?? readyPath, sizeBytes, key };
  }

  usage(): SpoolUsage {
    this.#checkDisk();
    const { freeBytes, byTenant } = this.#budget.usage();
    return {
      usedBytes: byTenant.artifacts,
      freeBytes: Math.min(freeBytes, this.#diskFreeBytes),
    };
  }

  onEvicted(listener: (name: string) => void): void {
    this.#listener = listener;
  }

  async settled(): Promise<void> {
    while (this.#deletions.size > 0) await Promise.all(this.#deletions);
  }

  async close(): Promise<void> {
    await this.settled();
    this.#entries.clear();
    await rm(this.#ownDir, { recursive: true, force: true });
  }

  /** Reads the free bytes of the disk, which others may use too, but not every time. */
  #checkDisk(fields: LogFields = {}): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#diskCheckedMs < diskCheckMs) return;
    this.#diskCheckedMs = nowMs;
    try {
      this.#diskFreeBytes = this.#measure();
    } catch (thrown) {
      this.#logger.warn(fields, `the disk's free space is unknown: ${messageOf(thrown)}`);
    }
  }

  #evict(eviction: Eviction): void {
    if (eviction.tenant !== "artifacts") {
      this.#onEvictedOther(eviction);
      return;
    }
    const { name, sizeBytes, state } = eviction;
    const fields = { artifact: name, size_bytes: sizeBytes, state };
    this.#logger.warn({ ...this.#fieldsOf(name), ...fields }, "artifact evicted");
    this.#drop(name);
  }

  #drop(name: string): void {
    this.remove(name);
    queueMicrotask(() => this.#listener(name));
  }

  #fieldsOf(name: string): LogFields {
    const entry = this.#entries.get(name);
    return entry === undefined ? {} : workLogFields(entry.key);
  }

  #delete({ key }: Entry, path: string): void {
    const deletion = unlink(path)
      .catch((thrown: unknown) => {
        if (isAbsent(thrown)) return;
        this.#logger.warn({ ...workLogFields(key), path }, `not deleted: ${messageOf(thrown)}`);
      })
      .finally(() => this.#deletions.delete(deletion));
    this.#deletions.add(deletion);
  }
}

function freeBytesOf(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

function diskFull(message: string): OperatingError {
  return new OperatingError("disk_full", "backoff", message);
}

function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
