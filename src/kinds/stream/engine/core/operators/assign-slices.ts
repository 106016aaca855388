/**
 * Sorts the rows of a batch into the slices they belong to. The fast way works on doubles and a
 * small cache of slices; times beyond 2^53 take the slow one.
 *
 * A row in a gap, or without a time, belongs to no slice and is dropped. A row is late when the
 * last window that it belongs to was fired, and when its time is before 0, where there are no
 * windows; late rows are given to whoever counts them.
 */
import type { Batch, Column } from "../batch.ts";
import { type LateRows, startOfTime } from "../operator.ts";
import { allRows, viewOf } from "../tables/column-view.ts";
import { readTimes, timeAt } from "./times.ts";
import { type SlicedWindow, WindowShape } from "./window-shape.ts";

/** The rows of one slice in a batch. */
export interface SliceRows<Slice> {
  readonly slice: Slice;
  readonly rows: Int32Array;
}

/** Where slices live. */
export interface SliceHolder<Slice> {
  /** The slice with this number, made if it is not there. */
  slice(index: bigint): Slice;
}

const cacheSize = 64;
const late = -1;
const dropped = -2;

export class SliceAssigner<Slice> {
  readonly shape: WindowShape;
  readonly #time: number;
  readonly #holder: SliceHolder<Slice>;
  readonly #late: LateRows;
  readonly #advance: number;
  readonly #remainder: number;
  readonly #twoPerAdvance: boolean;
  readonly #cacheKeys = new Float64Array(cacheSize).fill(Number.NaN);
  readonly #cacheOrdinals = new Int32Array(cacheSize);
  #times = new Float64Array(8_192);
  #ordinals = new Int32Array(8_192);
  #watermark = startOfTime;
  /** The slices of the batch, in the order in which they were met. */
  #met: Slice[] = [];
  #ordinalOf = new Map<bigint, number>();

  constructor(window: SlicedWindow, time: number, holder: SliceHolder<Slice>, lateRows: LateRows) {
    this.shape = new WindowShape(window);
    this.#time = time;
    this.#holder = holder;
    this.#late = lateRows;
    this.#advance = Number(this.shape.advance);
    this.#remainder = Number(this.shape.remainder);
    this.#twoPerAdvance = this.shape.perAdvance === 2n;
  }

  set watermark(watermark: bigint) {
    this.#watermark = watermark;
  }

  /** The rows of a batch by slice. The arrays are valid until the next call. */
  assign(batch: Batch): SliceRows<Slice>[] {
    const rows = batch.selection ?? allRows(batch.rowCount);
    const count = rows.length;
    if (count > this.#times.length) {
      this.#times = new Float64Array(count);
      this.#ordinals = new Int32Array(count);
    }
    this.#met = [];
    this.#ordinalOf.clear();
    this.#cacheKeys.fill(Number.NaN);
    const column = batch.columns[this.#time] as Column;
    const fits = readTimes(viewOf(column), rows, this.#times);
    const left = fits ? this.#assignFast(count) : this.#assignSlow(column, rows);
    if (left === 0 && this.#met.length === 1) return [{ slice: this.#met[0] as Slice, rows }];
    return this.#partition(batch, rows, left);
  }

  /** Returns how many rows are late or dropped. */
  #assignFast(count: number): number {
    const times = this.#times;
    const ordinals = this.#ordinals;
    let [from, to, ordinal, left] = [1, 0, dropped, 0];
    for (let i = 0; i < count; i += 1) {
      const time = times[i] as number;
      if (!(time >= from && time < to)) {
        const period = Math.floor(time / this.#advance);
        const start = period * this.#advance;
        const edge = start + this.#remainder;
        const isBehindEnd = this.#remainder !== 0 && time >= edge;
        // A time that is NULL is in no slice.
        [from, to] = isBehindEnd
          ? [edge, start + this.#advance]
          : [start, this.#remainder === 0 ? start + this.#advance : edge];
        if (isBehindEnd && !this.#twoPerAdvance) ordinal = dropped;
        else if (Number.isNaN(time)) ordinal = dropped;
        else ordinal = this.#ordinalAt(this.#twoPerAdvance ? period * 2 + +isBehindEnd : period);
      }
      if (ordinal < 0) left += 1;
      ordinals[i] = ordinal;
    }
    return left;
  }

  #ordinalAt(index: number): number {
    const place = index & (cacheSize - 1);
    if (this.#cacheKeys[place] === index) return this.#cacheOrdinals[place] as number;
    const ordinal = this.#meet(BigInt(index));
    this.#cacheKeys[place] = index;
    this.#cacheOrdinals[place] = ordinal;
    return ordinal;
  }

  #assignSlow(column: Column, rows: Int32Array): number {
    let left = 0;
    for (let i = 0; i < rows.length; i += 1) {
      const time = timeAt(column, rows[i] as number);
      const index = time === undefined ? undefined : this.shape.sliceAt(time);
      const ordinal = index === undefined ? dropped : this.#meet(index);
      if (ordinal < 0) left += 1;
      this.#ordinals[i] = ordinal;
    }
    return left;
  }

  #meet(index: bigint): number {
    const known = this.#ordinalOf.get(index);
    if (known !== undefined) return known;
    const last = this.shape.lastWindow(index);
    const isLate = last < 0n || this.shape.windowEnd(last) <= this.#watermark;
    const ordinal = isLate ? late : this.#met.length;
    if (!isLate) this.#met.push(this.#holder.slice(index));
    this.#ordinalOf.set(index, ordinal);
    return ordinal;
  }

  #partition(batch: Batch, rows: Int32Array, left: number): SliceRows<Slice>[] {
    const count = rows.length;
    const ordinals = this.#ordinals;
    const starts = new Int32Array(this.#met.length + 1);
    const lateRows: number[] = [];
    for (let i = 0; i < count; i += 1) {
      const ordinal = ordinals[i] as number;
      if (ordinal >= 0) starts[ordinal + 1] = (starts[ordinal + 1] as number) + 1;
      else if (ordinal === late) lateRows.push(rows[i] as number);
    }
    for (let i = 1; i < starts.length; i += 1) {
      starts[i] = (starts[i] as number) + (starts[i - 1] as number);
    }
    const places = starts.slice();
    const sorted = new Int32Array(count - left);
    for (let i = 0; i < count; i += 1) {
      const ordinal = ordinals[i] as number;
      if (ordinal < 0) continue;
      const place = places[ordinal] as number;
      sorted[place] = rows[i] as number;
      places[ordinal] = place + 1;
    }
    if (lateRows.length > 0) this.#tellLate(batch, lateRows);
    return this.#met.map((slice, i) => ({
      slice,
      rows: sorted.subarray(starts[i], starts[i + 1]),
    }));
  }

  #tellLate(batch: Batch, rows: readonly number[]): void {
    const column = batch.columns[this.#time] as Column;
    const lateMs = Float64Array.from(rows, (row) =>
      Math.max(0, Number(this.#watermark - (timeAt(column, row) ?? this.#watermark))),
    );
    this.#late.add(batch, Int32Array.from(rows), lateMs);
  }
}
