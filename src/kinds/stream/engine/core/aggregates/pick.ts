/**
 * Aggregates that keep one value of a group as it is: FIRST and LAST by event time, of any type,
 * and MIN and MAX of texts. NULLs are left out. The values are rows of a store, to which a batch
 * adds at most one for each group; those that lost are swept out when they are the larger part.
 */
import { type DataType, nullable } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { loaded, loadRows } from "../tables/load-values.ts";
import { RowStore } from "../tables/row-store.ts";
import { compareBytes } from "../tables/text-bytes.ts";
import { loadTimePairs } from "../tables/time-pairs.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";

export type PickFunction = "first" | "last" | "min" | "max";

const garbageRowsMin = 1_024;

export class PickAccumulator implements Accumulator {
  readonly #arg: number;
  readonly #time: number;
  readonly #fn: PickFunction;
  readonly #types: readonly DataType[];
  #values: RowStore;
  /** The row of each group's value plus 1; 0 where there is none yet. */
  #rowOf = new Int32Array(0);
  /** For each group: the event time of its value, as a high and a low word. */
  #times = new Float64Array(0);
  #groupCount = 0;

  constructor(arg: number, type: DataType, time: number, fn: PickFunction) {
    this.#arg = arg;
    this.#time = time;
    this.#fn = fn;
    this.#types = [nullable(type.name)];
    this.#values = new RowStore(this.#types);
  }

  reserve(groupCount: number): void {
    this.#groupCount = Math.max(this.#groupCount, groupCount);
    if (groupCount <= this.#rowOf.length) return;
    const capacity = Math.max(16, groupCount, this.#rowOf.length + (this.#rowOf.length >> 1));
    const [rowOf, times] = [new Int32Array(capacity), new Float64Array(capacity * 2)];
    rowOf.set(this.#rowOf);
    times.set(this.#times);
    this.#rowOf = rowOf;
    this.#times = times;
  }

  update(input: AggregateInput): void {
    const view = input.views[this.#arg] as ColumnView;
    const count = loadRows(view, input);
    const rows = loaded.rows.subarray(0, count);
    const times = new Float64Array(2 * count);
    if (this.#fn === "first" || this.#fn === "last") {
      loadTimePairs(input.views[this.#time] as ColumnView, rows, times);
    }
    this.#take(view, rows, loaded.groups, times);
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const other = from as PickAccumulator;
    const [rows, groups] = [new Int32Array(count), new Int32Array(count)];
    const times = new Float64Array(2 * count);
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      if (other.#rowOf[i] === 0 || (map[i] as number) < 0) continue;
      rows[kept] = (other.#rowOf[i] as number) - 1;
      groups[kept] = map[i] as number;
      times[2 * kept] = other.#times[2 * i] as number;
      times[2 * kept + 1] = other.#times[2 * i + 1] as number;
      kept += 1;
    }
    this.#take(other.#values.views[0] as ColumnView, rows.subarray(0, kept), groups, times);
  }

  /** Rows of `view`, in the order of their arrival, with their times. */
  #take(view: ColumnView, rows: Int32Array, groups: Int32Array, times: Float64Array): void {
    const touched: number[] = [];
    const byTime = this.#fn === "first" || this.#fn === "last";
    for (let i = 0; i < rows.length; i += 1) {
      const group = groups[i] as number;
      const row = rows[i] as number;
      const old = this.#rowOf[group] as number;
      const high = times[2 * i] as number;
      const low = times[2 * i + 1] as number;
      if (old !== 0) {
        const isBetter = byTime
          ? this.#isBetterTime(group, high, low)
          : this.#isBetterText(view, row, old);
        if (!isBetter) continue;
      }
      if (old >= 0) touched.push(group);
      // A row of the batch is a negative number until the end of the loop.
      this.#rowOf[group] = -row - 1;
      this.#times[2 * group] = high;
      this.#times[2 * group + 1] = low;
    }
    const base = this.#values.rowCount;
    const winners = Int32Array.from(touched, (group) => -(this.#rowOf[group] as number) - 1);
    this.#values.append([view], winners);
    for (const [i, group] of touched.entries()) this.#rowOf[group] = base + i + 1;
    if (this.#values.rowCount > 2 * this.#groupCount + garbageRowsMin) this.#sweep();
  }

  #isBetterTime(group: number, high: number, low: number): boolean {
    const [oldHigh, oldLow] = [
      this.#times[2 * group] as number,
      this.#times[2 * group + 1] as number,
    ];
    if (high !== oldHigh) return this.#fn === "first" ? high < oldHigh : high > oldHigh;
    // Of equal times the first to arrive is FIRST, and the last to arrive is LAST.
    return this.#fn === "first" ? low < oldLow : low >= oldLow;
  }

  #isBetterText(view: ColumnView, row: number, old: number): boolean {
    const stored = this.#values.views[0] as ColumnView;
    const [other, at] = old < 0 ? [view, -old - 1] : [stored, old - 1];
    const order = compareBytes(
      view.data as Uint8Array,
      view.offsets[row] as number,
      view.offsets[row + 1] as number,
      other.data as Uint8Array,
      other.offsets[at] as number,
      other.offsets[at + 1] as number,
    );
    return this.#fn === "min" ? order < 0 : order > 0;
  }

  #sweep(): void {
    const kept = new RowStore(this.#types);
    const live = this.#rowOf.subarray(0, this.#groupCount);
    kept.append(
      this.#values.views,
      live.filter((row) => row !== 0).map((row) => row - 1),
    );
    let next = 1;
    for (let group = 0; group < live.length; group += 1) {
      if (live[group] !== 0) {
        live[group] = next;
        next += 1;
      }
    }
    this.#values = kept;
  }

  finish(from: number, to: number): Column {
    const [view] = this.#values.views as [ColumnView];
    const result = new RowStore(this.#types);
    for (let group = from; group < to; ) {
      let end = group;
      while (end < to && (this.#rowOf[end] === 0) === (this.#rowOf[group] === 0)) end += 1;
      if (this.#rowOf[group] === 0) result.appendNulls(end - group);
      else
        result.append(
          [view],
          this.#rowOf.subarray(group, end).map((row) => row - 1),
        );
      group = end;
    }
    return result.columns(0, to - from)[0] as Column;
  }

  encode(writer: StateWriter, groupCount: number): void {
    this.#sweep();
    writer.number(groupCount).rows(this.#values);
    writer.array(this.#rowOf.subarray(0, groupCount));
    writer.array(this.#times.subarray(0, groupCount * 2));
  }

  decode(reader: StateReader): void {
    this.#groupCount = reader.number();
    this.#values = reader.rows(this.#types);
    this.#rowOf = reader.int32();
    this.#times = reader.float64();
  }

  get bytes(): number {
    return this.#values.bytes + this.#rowOf.byteLength + this.#times.byteLength;
  }
}
