/**
 * Divides one disk among tenants, the artifact spool and the caches, and decides what to evict. It
 * only keeps the accounts: it touches no file and knows no clock.
 *
 * Rules: QU30 to QU34. Unacknowledged artifacts are evicted only as far as the new one needs
 * (QU32): each costs an execution, and evicting more would let queries evict each other without
 * end.
 */
import { assert } from "../../kernel/errors.ts";

/** In the order in which they are evicted. */
export type DiskTenant = "decoded_columns" | "parquet_cache" | "artifacts";

/** Why an artifact is still kept; entries of a cache are always `wanted`. */
export type DiskEntryState = "wanted" | "acked" | "expired";

export interface DiskBudgetLimits {
  readonly capacityBytes: number;
  /** What artifacts can always get, whatever the caches hold. */
  readonly artifactFloorBytes: number;
  /** A share of `capacityBytes`. The rest is for files being written, which are not counted yet. */
  readonly highRatio: number;
  readonly lowRatio: number;
}

export interface Eviction {
  readonly tenant: DiskTenant;
  readonly name: string;
  readonly sizeBytes: number;
  readonly state: DiskEntryState;
}

export type DiskAdmission =
  /** The entry is counted, and those in `evict` no longer are: delete their files. */
  | { readonly kind: "admitted"; readonly evict: readonly Eviction[] }
  /** Nothing changed. `roomBytesMax` could have been admitted. */
  | { readonly kind: "refused"; readonly roomBytesMax: number };

export interface DiskUsage {
  readonly usedBytes: number;
  /** The room up to the high watermark. */
  readonly freeBytes: number;
  readonly byTenant: Readonly<Record<DiskTenant, number>>;
}

interface Entry {
  readonly tenant: DiskTenant;
  readonly name: string;
  readonly sizeBytes: number;
  state: DiskEntryState;
  pins: number;
}

export const defaultDiskRatios = { highRatio: 0.9, lowRatio: 0.8 } as const;

/** QU31. */
const evictionRanks = [
  "decoded_columns",
  "parquet_cache",
  "artifacts/acked",
  "artifacts/expired",
  "artifacts/wanted",
] as const;
type EvictionRank = (typeof evictionRanks)[number];

export class DiskBudget {
  readonly #highBytes: number;
  readonly #lowBytes: number;
  readonly #floorBytes: number;
  readonly #entries = new Map<string, Entry>();
  /** Each in the order of eviction, which is a `Map`'s order of insertion. */
  readonly #ranks: Readonly<Record<EvictionRank, Map<string, Entry>>> = {
    decoded_columns: new Map(),
    parquet_cache: new Map(),
    "artifacts/acked": new Map(),
    "artifacts/expired": new Map(),
    "artifacts/wanted": new Map(),
  };
  readonly #usedByTenant: Record<DiskTenant, number> = {
    decoded_columns: 0,
    parquet_cache: 0,
    artifacts: 0,
  };

  constructor(limits: DiskBudgetLimits) {
    const { capacityBytes, artifactFloorBytes, highRatio, lowRatio } = limits;
    assert(0 < lowRatio && lowRatio <= highRatio && highRatio <= 1, "watermarks are in order");
    this.#highBytes = Math.floor(capacityBytes * highRatio);
    this.#lowBytes = Math.floor(capacityBytes * lowRatio);
    this.#floorBytes = Math.min(artifactFloorBytes, this.#highBytes);
  }

  /** Names are unique within a tenant. */
  admit(tenant: DiskTenant, name: string, sizeBytes: number): DiskAdmission {
    assert(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0, "a size is a count of bytes");
    const id = idOf(tenant, name);
    assert(!this.#entries.has(id), `${id} is admitted once`);
    const limitBytes = this.#limitOf(tenant);
    const evict = this.#plan(tenant, sizeBytes, limitBytes);
    if (evict === undefined) {
      return { kind: "refused", roomBytesMax: this.#roomBytesMax(tenant, limitBytes) };
    }
    for (const entry of evict) this.#forget(entry);
    const entry: Entry = { tenant, name, sizeBytes, state: "wanted", pins: 0 };
    this.#entries.set(id, entry);
    this.#ranks[rankOf(entry)].set(id, entry);
    this.#usedByTenant[tenant] += sizeBytes;
    return { kind: "admitted", evict: evict.map(showEviction) };
  }

  /** Marks the entry as recently used, so that it is evicted last in its class. */
  touch(tenant: DiskTenant, name: string): void {
    this.#replace(tenant, name, (entry) => entry.state);
  }

  /** Marks an artifact that nobody waits for. */
  release(name: string, state: "acked" | "expired"): void {
    this.#replace("artifacts", name, () => state);
  }

  /** The entry stays until it is unpinned as often. Returns false when there is no such entry. */
  pin(tenant: DiskTenant, name: string): boolean {
    const entry = this.#entries.get(idOf(tenant, name));
    if (entry === undefined) return false;
    entry.pins += 1;
    return true;
  }

  unpin(tenant: DiskTenant, name: string): void {
    const entry = this.#entries.get(idOf(tenant, name));
    if (entry === undefined) return;
    assert(entry.pins > 0, "only what is pinned is unpinned");
    entry.pins -= 1;
  }

  /** Idempotent. */
  remove(tenant: DiskTenant, name: string): void {
    const entry = this.#entries.get(idOf(tenant, name));
    if (entry !== undefined) this.#forget(entry);
  }

  has(tenant: DiskTenant, name: string): boolean {
    return this.#entries.has(idOf(tenant, name));
  }

  usage(): DiskUsage {
    const usedBytes = this.#usedBytes();
    const freeBytes = Math.max(0, this.#highBytes - usedBytes);
    return { usedBytes, freeBytes, byTenant: { ...this.#usedByTenant } };
  }

  /** What `tenant` could be admitted if everything that it may displace were evicted. */
  roomBytesMax(tenant: DiskTenant): number {
    return this.#roomBytesMax(tenant, this.#limitOf(tenant));
  }

  /** What `tenant` could have if nothing else were on the disk. */
  shareBytesMax(tenant: DiskTenant): number {
    return tenant === "artifacts" ? this.#highBytes : this.#highBytes - this.#floorBytes;
  }

  /** QU30, QU33. The most that all tenants together may use after an admission to this one. */
  #limitOf(tenant: DiskTenant): number {
    if (tenant === "artifacts") return this.#highBytes;
    const owedBytes = Math.max(0, this.#floorBytes - this.#usedByTenant.artifacts);
    return this.#highBytes - owedBytes;
  }

  /** Undefined when it does not fit (QU34). */
  #plan(tenant: DiskTenant, sizeBytes: number, limitBytes: number): readonly Entry[] | undefined {
    let usedBytes = this.#usedBytes() + sizeBytes;
    if (usedBytes <= limitBytes) return [];
    const targetBytes = Math.min(this.#lowBytes, limitBytes);
    const evict: Entry[] = [];
    for (const rank of yieldingTo(tenant)) {
      const downToBytes = rank === "artifacts/wanted" ? limitBytes : targetBytes; // QU32
      for (const entry of this.#ranks[rank].values()) {
        if (usedBytes <= downToBytes) break;
        if (entry.pins > 0) continue; // QU34
        evict.push(entry);
        usedBytes -= entry.sizeBytes;
      }
    }
    return usedBytes <= limitBytes ? evict : undefined;
  }

  #roomBytesMax(tenant: DiskTenant, limitBytes: number): number {
    let usedBytes = this.#usedBytes();
    for (const rank of yieldingTo(tenant)) {
      for (const entry of this.#ranks[rank].values()) {
        if (entry.pins === 0) usedBytes -= entry.sizeBytes;
      }
    }
    return Math.max(0, limitBytes - usedBytes);
  }

  #replace(tenant: DiskTenant, name: string, next: (entry: Entry) => DiskEntryState): void {
    const id = idOf(tenant, name);
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#ranks[rankOf(entry)].delete(id);
    entry.state = next(entry);
    this.#ranks[rankOf(entry)].set(id, entry);
  }

  #forget(entry: Entry): void {
    const id = idOf(entry.tenant, entry.name);
    this.#entries.delete(id);
    this.#ranks[rankOf(entry)].delete(id);
    this.#usedByTenant[entry.tenant] -= entry.sizeBytes;
  }

  #usedBytes(): number {
    const { decoded_columns, parquet_cache, artifacts } = this.#usedByTenant;
    return decoded_columns + parquet_cache + artifacts;
  }
}

/** QU33. */
function yieldingTo(tenant: DiskTenant): readonly EvictionRank[] {
  if (tenant === "artifacts") return evictionRanks;
  return evictionRanks.slice(0, evictionRanks.indexOf(tenant) + 1);
}

function rankOf({ tenant, state }: Entry): EvictionRank {
  return tenant === "artifacts" ? `artifacts/${state}` : tenant;
}

function idOf(tenant: DiskTenant, name: string): string {
  return `${tenant}/${name}`;
}

function showEviction({ tenant, name, sizeBytes, state }: Entry): Eviction {
  return { tenant, name, sizeBytes, state };
}
