/**
 * A compute thread's memory cache of segments: decoded columns of row groups, and whole selections
 * assembled from them, under one bound. The least recently used entry is evicted first, and a
 * column moves to the disk where there is one. Columns of a kept selection are evicted before all
 * others, since they would be in memory twice. Segments never change, so entries are never stale.
 */
import type { ColumnCache, DecodedColumn } from "../metrics/index.ts";

/** Takes columns that memory has no room for. Implemented by `DiskColumns`. */
export interface ColumnSpill {
  read(key: string): DecodedColumn | undefined;
  write(key: string, column: DecodedColumn): void;
}

interface Entry {
  readonly value: unknown;
  readonly bytes: number;
}

/** The share of the cache for columns that are part of a selection too. */
const demotedShareMax = 1 / 8;

export class MemoryColumnCache implements ColumnCache {
  readonly bytesMax: number;
  /** A `Map` keeps the order of insertion: the first is the least recently used. */
  readonly #entries = new Map<string, Entry>();
  /** Entries that are evicted before all of `#entries`. */
  readonly #demoted = new Map<string, Entry>();
  /** The keys of the columns requested since `noteColumns` began. */
  #noted: Set<string> | undefined;
  readonly #spill: ColumnSpill | undefined;
  /** The columns that are on disk and need not be written again. */
  readonly #spilled = new Set<string>();
  #bytes = 0;
  hits = 0;
  misses = 0;

  constructor(bytesMax: number, spill?: ColumnSpill) {
    this.bytesMax = bytesMax;
    this.#spill = spill;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(
    segmentId: string,
    rowGroup: number,
    column: string,
    load: () => DecodedColumn,
  ): DecodedColumn {
    const key = `${segmentId}/${rowGroup}/${column}`;
    this.#noted?.add(key);
    const known = this.find(key) as DecodedColumn | undefined;
    if (known !== undefined) return known;
    const loaded = this.#readBack(key) ?? load();
    this.keep(key, loaded, loaded.byteLength);
    return loaded;
  }

  #readBack(key: string): DecodedColumn | undefined {
    const found = this.#spill?.read(key);
    if (found === undefined) this.#spilled.delete(key); // It never was there, or it was evicted.
    return found;
  }

  /** Only keys of columns begin with a segment's id. */
  find(key: string): unknown {
    const known = this.#entries.get(key) ?? this.#demoted.get(key);
    if (known === undefined) {
      this.misses += 1;
      return undefined;
    }
    this.hits += 1;
    this.#entries.delete(key);
    this.#demoted.delete(key);
    this.#entries.set(key, known);
    return known.value;
  }

  /** Returns the keys of the columns that `read` requests, for `demote`. */
  noteColumns<Value>(read: () => Value): readonly [Value, ReadonlySet<string>] {
    const noted = new Set<string>();
    this.#noted = noted;
    try {
      return [read(), noted];
    } finally {
      this.#noted = undefined;
    }
  }

  /**
   * Marks columns for eviction before all others, and evicts most of them at once. A column that is
   * requested again is kept.
   */
  demote(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const known = this.#entries.get(key);
      if (known === undefined) continue;
      this.#entries.delete(key);
      this.#demoted.set(key, known);
    }
    let bytes = this.#demoted.values().reduce((sum, entry) => sum + entry.bytes, 0);
    for (const [key, entry] of this.#demoted) {
      if (bytes <= this.bytesMax * demotedShareMax) return;
      bytes -= entry.bytes;
      this.#evict(key);
    }
  }

  /** A value larger than the whole cache is not kept. */
  keep(key: string, value: unknown, bytes: number): void {
    if (bytes > this.bytesMax) return;
    this.drop(key);
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const entries of [this.#demoted, this.#entries]) {
      for (const oldest of entries.keys()) {
        if (this.#bytes <= this.bytesMax) return;
        this.#evict(oldest);
      }
    }
  }

  #evict(key: string): void {
    const value = (this.#entries.get(key) ?? this.#demoted.get(key))?.value;
    this.drop(key);
    const isColumn = value instanceof Float64Array || value instanceof Uint8Array;
    if (!isColumn || this.#spill === undefined || this.#spilled.has(key)) return;
    this.#spilled.add(key);
    this.#spill.write(key, value as DecodedColumn);
  }

  drop(key: string): void {
    const known = this.#entries.get(key) ?? this.#demoted.get(key);
    if (known === undefined) return;
    this.#entries.delete(key);
    this.#demoted.delete(key);
    this.#bytes -= known.bytes;
  }
}
