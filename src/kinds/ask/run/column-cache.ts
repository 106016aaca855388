/**
 * What a compute thread keeps in memory of segments: columns of row groups as they were decoded, and whole selections put
 * together from them. One bound for both; the least recently used goes first, columns to the disk
 * where there is one. Columns that a kept selection was put together from are the first of all to
 * go: they would be in memory twice. Segments never change, so nothing here is ever stale.
 */
import type { ColumnCache, DecodedColumn } from "../metrics/index.ts";

/** Where columns go that memory has no room for. `DiskColumns` is one. */
export interface ColumnSpill {
  read(key: string): DecodedColumn | undefined;
  write(key: string, column: DecodedColumn): void;
}

interface Entry {
  readonly value: unknown;
  readonly bytes: number;
}

/** Of all the room there is, for columns that are in a selection as well. */
const demotedShareMax = 1 / 8;

export class MemoryColumnCache implements ColumnCache {
  readonly bytesMax: number;
  /** A `Map` keeps the order of insertion: the first is the least recently used. */
  readonly #entries = new Map<string, Entry>();
  /** What goes before the least recently used of the others. */
  readonly #demoted = new Map<string, Entry>();
  /** Keys of the columns that were asked for since `noteColumns` began. */
  #noted: Set<string> | undefined;
  readonly #spill: ColumnSpill | undefined;
  /** Columns that are on the disk: they need not be written again. */
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

  /** Keys of others than columns do not begin like a segment's id. */
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

  /** The columns that `read` asks for, by their keys, for `demote`. */
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
   * They go first when room is needed, and most of them at once, unless somebody asks for them
   * again.
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

  /** What is larger than all there is room for is not kept. */
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
