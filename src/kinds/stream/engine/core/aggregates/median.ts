/**
 * MEDIAN: the value in the middle, or the mean of the two there. All values are kept, as a log of
 * groups and values in the order of arrival; the results are found when a window fires.
 */
import type { Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { loadDoubles, loaded } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";

export class MedianAccumulator implements Accumulator {
  readonly #arg: number;
  #groups = new Int32Array(0);
  /** A 64-bit integer is rounded to a double, which keeps their order and so the median. */
  #values = new Float64Array(0);
  #length = 0;
  #groupCount = 0;
  /** The values sorted within each group, and where each group begins; made by `finish`. */
  #sorted: { readonly values: Float64Array; readonly starts: Int32Array } | undefined;

  constructor(arg: number) {
    this.#arg = arg;
  }

  reserve(groupCount: number): void {
    this.#groupCount = groupCount;
  }

  update(input: AggregateInput): void {
    const count = loadDoubles(input.views[this.#arg] as ColumnView, input);
    const at = this.#append(count);
    this.#groups.set(loaded.groups.subarray(0, count), at);
    this.#values.set(loaded.doubles.subarray(0, count), at);
  }

  merge(from: Accumulator, map: Int32Array): void {
    const other = from as MedianAccumulator;
    let at = this.#append(other.#length);
    for (let i = 0; i < other.#length; i += 1) {
      const group = map[other.#groups[i] as number] as number;
      if (group < 0) continue;
      this.#groups[at] = group;
      this.#values[at] = other.#values[i] as number;
      at += 1;
    }
    this.#length = at;
  }

  #append(count: number): number {
    const at = this.#length;
    this.#length += count;
    this.#sorted = undefined;
    if (this.#length > this.#groups.length) {
      const capacity = Math.max(this.#length, at + (at >> 1), 16);
      const [groups, values] = [new Int32Array(capacity), new Float64Array(capacity)];
      groups.set(this.#groups.subarray(0, at));
      values.set(this.#values.subarray(0, at));
      this.#groups = groups;
      this.#values = values;
    }
    return at;
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    this.#sorted ??= this.#sort();
    const { values, starts } = this.#sorted;
    for (let group = from; group < to; group += 1) {
      const start = starts[group] as number;
      const count = (starts[group + 1] as number) - start;
      const middle = start + (count >> 1);
      if (count === 0) out.setNull(group - from);
      else if (count % 2 === 1) out.data[group - from] = values[middle] as number;
      else {
        const [a, b] = [values[middle - 1] as number, values[middle] as number];
        const sum = a + b;
        // A sum beyond the range of doubles still has a middle within it.
        out.data[group - from] = Number.isFinite(sum) ? sum / 2 : a / 2 + b / 2;
      }
    }
    return out.column(to - from);
  }

  #sort(): { readonly values: Float64Array; readonly starts: Int32Array } {
    const starts = new Int32Array(this.#groupCount + 1);
    for (let i = 0; i < this.#length; i += 1) {
      const next = (this.#groups[i] as number) + 1;
      starts[next] = (starts[next] as number) + 1;
    }
    for (let group = 0; group < this.#groupCount; group += 1) {
      starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number);
    }
    const places = starts.slice();
    const values = new Float64Array(this.#length);
    for (let i = 0; i < this.#length; i += 1) {
      const group = this.#groups[i] as number;
      values[places[group] as number] = this.#values[i] as number;
      places[group] = (places[group] as number) + 1;
    }
    for (let group = 0; group < this.#groupCount; group += 1) {
      values.subarray(starts[group], starts[group + 1]).sort();
    }
    return { values, starts };
  }

  encode(writer: StateWriter): void {
    writer.array(this.#groups.subarray(0, this.#length));
    writer.array(this.#values.subarray(0, this.#length));
  }

  decode(reader: StateReader): void {
    this.#groups = reader.int32();
    this.#values = reader.float64();
    this.#length = this.#groups.length;
    this.#sorted = undefined;
  }

  get bytes(): number {
    return this.#groups.byteLength + this.#values.byteLength;
  }
}
