/** A spool without a disk. */
import { assert, OperatingError } from "../../../kernel/errors.ts";
import { keyOf, type WorkKey } from "../assignment/index.ts";
import { DiskBudget, defaultDiskRatios } from "../disk-budget.ts";
import type { ArtifactSpool, SpooledFile, SpoolSlot, SpoolUsage } from "../ports.ts";

interface Entry {
  readonly path: string;
  readonly key: WorkKey;
  sizeBytes: number | undefined;
}

export class MemoryArtifactSpool implements ArtifactSpool {
  /** The files that would be on disk, by path. */
  readonly files = new Map<string, Uint8Array>();
  readonly #budget: DiskBudget;
  readonly #entries = new Map<string, Entry>();
  #listener: (name: string) => void = () => undefined;
  #nameNext = 1;

  constructor(capacityBytes: number) {
    this.#budget = new DiskBudget({
      capacityBytes,
      artifactFloorBytes: capacityBytes,
      ...defaultDiskRatios,
    });
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  reserve(key: WorkKey): SpoolSlot {
    const bytesMax = this.#budget.roomBytesMax("artifacts");
    if (bytesMax === 0) throw new OperatingError("disk_full", "backoff", "full");
    const name = `memory-${this.#nameNext}`;
    this.#nameNext += 1;
    this.#entries.set(name, { path: name, key: keyOf(key), sizeBytes: undefined });
    return { name, path: name, bytesMax };
  }

  commit(name: string, sizeBytes: number, bytes?: Uint8Array): Promise<void> {
    const entry = this.#entries.get(name);
    assert(entry !== undefined, "a slot is committed");
    const admission = this.#budget.admit("artifacts", name, sizeBytes);
    if (admission.kind === "refused") {
      this.remove(name);
      return Promise.reject(new OperatingError("disk_full", "backoff", "full"));
    }
    for (const eviction of admission.evict) {
      this.remove(eviction.name);
      queueMicrotask(() => this.#listener(eviction.name));
    }
    entry.sizeBytes = sizeBytes;
    if (bytes !== undefined) this.files.set(entry.path, bytes);
    return Promise.resolve();
  }

  release(name: string, reason: "acked" | "expired"): void {
    this.#budget.release(name, reason);
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#budget.remove("artifacts", name);
    this.files.delete(entry.path);
  }

  stat(name: string): SpooledFile | undefined {
    const entry = this.#entries.get(name);
    if (entry?.sizeBytes === undefined) return undefined;
    return { content: entry.path, sizeBytes: entry.sizeBytes, key: entry.key };
  }

  usage(): SpoolUsage {
    const { usedBytes, freeBytes } = this.#budget.usage();
    return { usedBytes, freeBytes };
  }

  onEvicted(listener: (name: string) => void): void {
    this.#listener = listener;
  }
}
