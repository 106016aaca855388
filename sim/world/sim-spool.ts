/** The artifact spool on a simulated disk, with a byte limit and the port's evictions. */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type {
  ArtifactSpool,
  SpooledFile,
  SpoolSlot,
  SpoolUsage,
  WorkKey,
} from "../../src/ground/work/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { SimDisk } from "./disk.ts";

type Standing = "slot" | "wanted" | "expired" | "acked";

interface Entry {
  readonly key: WorkKey;
  readonly name: string;
  readonly path: string;
  sizeBytes: number;
  standing: Standing;
}

const evictionOrder: readonly Standing[] = ["acked", "expired", "wanted"];

export class SimSpool implements ArtifactSpool {
  readonly #life: Life;
  readonly #disk: SimDisk;
  readonly #budgetBytes: number;
  readonly #entries = new Map<string, Entry>();
  #listener: (name: string) => void = () => undefined;
  #names = 0;
  #evictions = 0;

  constructor(life: Life, disk: SimDisk, budgetBytes: number) {
    this.#life = life;
    this.#disk = disk;
    this.#budgetBytes = budgetBytes;
  }

  /** Evicted artifacts that were still wanted. */
  get evictions(): number {
    return this.#evictions;
  }

  get entryCount(): number {
    return this.#entries.size;
  }

  reserve(key: WorkKey): SpoolSlot {
    this.#names += 1;
    const name = `${this.#life.name}-${this.#life.number}-${this.#names}`;
    const path = `spool/${name}`;
    this.#entries.set(name, { name, path, key, sizeBytes: 0, standing: "slot" });
    return { name, path, bytesMax: this.#budgetBytes };
  }

  commit(name: string, sizeBytes: number, bytes?: Uint8Array): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined || !this.#makeRoom(sizeBytes)) {
      this.remove(name);
      return Promise.reject(new OperatingError("disk_full", "backoff", "the spool is full"));
    }
    entry.sizeBytes = sizeBytes;
    entry.standing = "wanted";
    if (bytes !== undefined) this.#disk.write(entry.path, bytes);
    return Promise.resolve();
  }

  release(name: string, reason: "acked" | "expired"): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.standing = reason;
  }

  remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#disk.remove(entry.path);
  }

  stat(name: string): SpooledFile | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.standing === "slot") return undefined;
    return { content: entry.path, sizeBytes: entry.sizeBytes, key: entry.key };
  }

  usage(): SpoolUsage {
    const usedBytes = this.#usedBytes();
    return { usedBytes, freeBytes: this.#budgetBytes - usedBytes };
  }

  onEvicted(listener: (name: string) => void): void {
    this.#listener = listener;
  }

  #makeRoom(sizeBytes: number): boolean {
    if (sizeBytes > this.#budgetBytes) return false;
    for (const standing of evictionOrder) {
      for (const entry of this.#entries.values()) {
        if (this.#usedBytes() + sizeBytes <= this.#budgetBytes) return true;
        if (entry.standing !== standing) continue;
        this.remove(entry.name);
        if (standing === "wanted") this.#evictions += 1;
        this.#life.after(0, () => this.#listener(entry.name));
      }
    }
    return this.#usedBytes() + sizeBytes <= this.#budgetBytes;
  }

  #usedBytes(): number {
    let usedBytes = 0;
    for (const { sizeBytes } of this.#entries.values()) usedBytes += sizeBytes;
    return usedBytes;
  }
}
