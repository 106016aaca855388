/**
 * The rows of one window that can still be among the first of their partition; of equal rows those
 * that arrived first. Rows are appended as they come, those of a partition in a chain; a partition
 * with twice as many as are wanted is cut to the first of them, and from then on takes only rows
 * that come before the last of those. Rows that fell out stay in the store until most of it is
 * such rows, and then the others move to a new one.
 */
import type { DataType, SortKey } from "../../../language/core/index.ts";
import { batchRowsMax } from "../batch.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { type CompareRows, createCompare } from "./compare-rows.ts";

export interface Ranking {
  readonly types: readonly DataType[];
  readonly partition: readonly number[];
  readonly order: readonly SortKey[];
  readonly limit: number;
}

const none = -1;
const spareRows = 4_096;
let groupNumbers = new Int32Array(8_192);

export class TopRows {
  readonly #ranking: Ranking;
  readonly #keys: KeyTable;
  #rows: RowStore;
  /** How many rows have not fallen out. */
  #live = 0;
  /** By partition: its newest row, how many it has, and the last of its first ones. */
  #newest = new Int32Array(0);
  #counts = new Int32Array(0);
  #lasts = new Int32Array(0);
  /** By row: the one before it in its partition. Empty when only one is wanted. */
  #before = new Int32Array(0);

  constructor(ranking: Ranking) {
    this.#ranking = ranking;
    const { types, partition } = ranking;
    this.#keys = new KeyTable(partition.map((column) => types[column] as DataType));
    this.#rows = new RowStore(types);
  }

  /** In the order of their arrival, with some that fell out. */
  get rows(): RowStore {
    return this.#rows;
  }

  add(views: readonly ColumnView[], rows: Int32Array): void {
    const { partition } = this.#ranking;
    const count = rows.length;
    if (count > groupNumbers.length) groupNumbers = new Int32Array(count);
    const keys = partition.map((column) => views[column] as ColumnView);
    this.#keys.add(keys, rows, groupNumbers);
    const first = this.#rows.rowCount;
    this.#rows.append(views, rows);
    this.#reserve();
    this.#rank(first, count);
    if (this.#rows.rowCount > roomFor(this.#live)) this.#compact();
  }

  /** Leaves the first rows of each partition, in the order of their arrival. */
  finish(): RowStore {
    const { limit } = this.#ranking;
    const compare = this.#compare();
    for (let group = 0; group < this.#keys.count; group += 1) {
      if ((this.#counts[group] as number) > limit) this.#cut(group, compare);
    }
    this.#compact();
    return this.#rows;
  }

  get bytes(): number {
    const arrays = [this.#newest, this.#counts, this.#lasts, this.#before];
    const own = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return this.#rows.bytes + this.#keys.bytes + own;
  }

  /** Puts the rows behind `first` into the chains of their partitions. */
  #rank(first: number, count: number): void {
    const { limit } = this.#ranking;
    const compare = this.#compare();
    const [newest, counts, lasts, before] = [this.#newest, this.#counts, this.#lasts, this.#before];
    for (let i = 0; i < count; i += 1) {
      const group = groupNumbers[i] as number;
      const row = first + i;
      const last = lasts[group] as number;
      if (last !== none && compare(row, last) >= 0) continue;
      if (limit === 1) {
        if (last === none) this.#live += 1;
        newest[group] = row;
        lasts[group] = row;
        continue;
      }
      before[row] = newest[group] as number;
      newest[group] = row;
      const members = (counts[group] as number) + 1;
      counts[group] = members;
      this.#live += 1;
      if (members === 2 * limit) this.#cut(group, compare);
    }
  }

  /** Leaves the first rows of a partition. */
  #cut(group: number, compare: CompareRows): void {
    const { limit } = this.#ranking;
    const chain: number[] = [];
    for (let row = this.#newest[group] as number; row !== none; ) {
      chain.push(row);
      row = this.#before[row] as number;
    }
    chain.sort((a, b) => compare(a, b) || a - b);
    this.#live -= chain.length - limit;
    chain.length = limit;
    let newest = none;
    for (const row of chain) {
      this.#before[row] = newest;
      newest = row;
    }
    this.#newest[group] = newest;
    this.#lasts[group] = newest;
    this.#counts[group] = limit;
  }

  /** Moves the rows that have not fallen out to a new store. */
  #compact(): void {
    if (this.#live === this.#rows.rowCount) return;
    const moved = new Int32Array(this.#rows.rowCount).fill(none);
    for (let group = 0; group < this.#keys.count; group += 1) {
      for (let row = this.#newest[group] as number; row !== none; ) {
        moved[row] = 0;
        row = this.#before[row] ?? none;
      }
    }
    const kept = new Int32Array(this.#live);
    let place = 0;
    for (let row = 0; row < moved.length; row += 1) {
      if (moved[row] === none) continue;
      kept[place] = row;
      moved[row] = place;
      place += 1;
    }
    this.#move(kept, moved);
  }

  #move(kept: Int32Array, moved: Int32Array): void {
    const rows = new RowStore(this.#ranking.types);
    // Room for all that come before the next time, instead of growing step by step.
    rows.reserve(roomFor(kept.length) + batchRowsMax);
    rows.append(this.#rows.views, kept);
    this.#rows = rows;
    const [newest, lasts, before] = [this.#newest, this.#lasts, this.#before];
    const placeOf = (row: number): number => (row === none ? none : (moved[row] as number));
    // A row never moves to a greater number, so what is read was not written yet.
    const chained = Math.min(kept.length, before.length);
    for (let at = 0; at < chained; at += 1) {
      before[at] = placeOf(before[kept[at] as number] as number);
    }
    for (let group = 0; group < this.#keys.count; group += 1) {
      newest[group] = placeOf(newest[group] as number);
      lasts[group] = placeOf(lasts[group] as number);
    }
  }

  #compare(): CompareRows {
    return createCompare(this.#rows.views, this.#ranking.order);
  }

  #reserve(): void {
    const groupCount = this.#keys.count;
    if (groupCount > this.#newest.length) {
      const length = groupCount + (groupCount >> 1);
      this.#newest = grown(this.#newest, length);
      this.#lasts = grown(this.#lasts, length);
      this.#counts = grown(this.#counts, length, 0);
    }
    const { rowCount } = this.#rows;
    if (this.#ranking.limit > 1 && rowCount > this.#before.length) {
      this.#before = grown(this.#before, roomFor(rowCount));
    }
  }
}

/** How many rows the store may have with so many that have not fallen out. */
function roomFor(live: number): number {
  return 2 * live + spareRows;
}

function grown(array: Int32Array, length: number, rest = none): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(length).fill(rest, array.length);
  longer.set(array);
  return longer;
}
