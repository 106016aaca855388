/**
 * The rows of one side of an interval join, with their times and an index over their keys that
 * grows with them. Rows that can find no partner any more are swept out when they may be half.
 */
import type { Schema } from "../../../language/core/index.ts";
import { batchRowsMax } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, type ColumnView } from "../tables/column-view.ts";
import type { JoinLoops } from "../tables/join-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { loadTimePairs, type TimePair, timeBetween } from "../tables/time-pairs.ts";

const sweepRowsMin = 4_096;

export interface IntervalSideParts {
  readonly schema: Schema;
  readonly time: number;
  /** The columns of the keys. */
  readonly keys: readonly number[];
  /** The loops that find the rows of this side for those of the other. */
  readonly loops: JoinLoops;
}

export class IntervalSide {
  readonly #parts: IntervalSideParts;
  #store: RowStore;
  #times = new Float64Array(2 * 16);
  #hashes = new Int32Array(16);
  #heads = new Int32Array(16);
  #next = new Int32Array(16);
  #keptRows = 0;
  readonly #probing = new Int32Array(batchRowsMax);
  readonly #found = new Int32Array(batchRowsMax);
  generation = 0;

  constructor(parts: IntervalSideParts) {
    this.#parts = parts;
    this.#store = new RowStore(parts.schema.map(({ type }) => type));
  }

  get rowCount(): number {
    return this.#store.rowCount;
  }

  get views(): readonly ColumnView[] {
    return this.#store.views;
  }

  #keyViews(): ColumnView[] {
    const { views } = this.#store;
    return this.#parts.keys.map((key) => views[key] as ColumnView);
  }

  /** Adds rows of a batch, with their times as pairs. */
  append(views: readonly ColumnView[], rows: Int32Array): void {
    this.generation += 1;
    const base = this.#store.rowCount;
    this.#store.append(views, rows);
    this.#index(base);
  }

  /** Makes times, hashes and chains for the rows from `base` on. */
  #index(base: number): void {
    const { loops, time } = this.#parts;
    const count = this.#store.rowCount;
    const added = allRows(count).subarray(base);
    if (count > this.#hashes.length) {
      const capacity = Math.max(count, this.#hashes.length * 2);
      [this.#hashes, this.#next] = [resized(this.#hashes, capacity), resized(this.#next, capacity)];
      const times = new Float64Array(2 * capacity);
      times.set(this.#times);
      this.#times = times;
    }
    loadTimePairs(this.#store.views[time] as ColumnView, added, this.#times.subarray(2 * base));
    const keys = this.#keyViews();
    loops.hash(keys, added, added.length, this.#hashes.subarray(base));
    let from = base;
    if (count * 2 > this.#heads.length) {
      let headCount = this.#heads.length;
      while (count * 2 > headCount) headCount *= 2;
      this.#heads = new Int32Array(headCount);
      from = 0;
    }
    loops.build(keys, this.#hashes, from, count, this.#heads, this.#next);
  }

  timeBetween(row: number, { high, low }: TimePair): number {
    return timeBetween(
      high,
      low,
      this.#times[2 * row] as number,
      this.#times[2 * row + 1] as number,
    );
  }

  timeOf(row: number): TimePair {
    return { high: this.#times[2 * row] as number, low: this.#times[2 * row + 1] as number };
  }

  /** Finds the rows here whose keys equal those of the other side's rows from `base` on. */
  probe(
    other: IntervalSide,
    base: number,
    take: (others: Int32Array, found: Int32Array, count: number) => void,
  ): void {
    const keys = this.#keyViews();
    const count = other.#store.rowCount;
    const place = { row: base, entry: -2 };
    while (place.row < count) {
      const pairs = this.#parts.loops.probe(
        place,
        other.#keyViews(),
        keys,
        other.#hashes,
        this.#hashes,
        count,
        this.#heads,
        this.#next,
        this.#probing,
        this.#found,
      );
      if (pairs > 0) take(this.#probing, this.#found, pairs);
    }
  }

  /** Sweeps out rows that `isDead` names, if there may be many of them. */
  sweep(isDead: (row: number) => boolean): void {
    const count = this.#store.rowCount;
    if (count < 2 * this.#keptRows + sweepRowsMin) return;
    const rows = allRows(count).filter((row) => !isDead(row));
    this.#keptRows = rows.length;
    if (rows.length === count) return;
    this.generation += 1;
    const kept = new RowStore(this.#store.types);
    kept.append(this.#store.views, rows);
    this.#reset(kept);
  }

  #reset(store: RowStore): void {
    this.#store = store;
    this.#times = new Float64Array(2 * 16);
    this.#hashes = new Int32Array(16);
    this.#heads = new Int32Array(16);
    this.#next = new Int32Array(16);
    this.#index(0);
  }

  encode(writer: StateWriter): void {
    writer.number(this.generation).rows(this.#store);
  }

  decode(reader: StateReader): void {
    this.generation = reader.number();
    this.#reset(reader.rows(this.#store.types));
  }

  get bytes(): number {
    const index = this.#hashes.byteLength + this.#heads.byteLength + this.#next.byteLength;
    return this.#store.bytes + this.#times.byteLength + index;
  }
}

function resized(array: Int32Array, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(array);
  return larger;
}
