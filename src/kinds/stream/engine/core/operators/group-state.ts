/** The groups of a slice or of a window: their keys and what the aggregates keep for each. */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type {
  AggregateCall,
  DataType,
  FixedType,
  Schema,
  WindowAggregateOp,
} from "../../../language/core/index.ts";
import type { Accumulator, AggregateInput } from "../aggregates/accumulator.ts";
import { createAccumulator, filterRows, needsAllValues } from "../aggregates/create-accumulator.ts";
import { type Batch, batchRowsMax, type Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, type ColumnView, viewOf } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { OutputColumn } from "../tables/output-column.ts";

/** States kept for later slices and windows: so many of any size, and more that are small. */
const largeSparesMax = 2;
const sparesMax = 16;
const spareBytesMax = 4 * 1_024 * 1_024;

type GroupingOp = Pick<WindowAggregateOp, "time" | "keys" | "aggregates">;

/** What the groups of all slices of an operator have in common. */
export class Grouping {
  readonly keys: readonly number[];
  readonly keyTypes: readonly DataType[];
  readonly aggregates: readonly AggregateCall[];
  readonly outputs: readonly OutputColumn[];
  /** Whether a window has to go over all values of all of its slices. */
  readonly needsAllValues: boolean;
  /** How many groups the last slice had: the next one makes room for as many. */
  groupCountExpected = 0;
  readonly #spares: GroupState[] = [];
  #spareBytes = 0;
  readonly #input: Schema;
  readonly #time: number;
  readonly #used: readonly number[];

  constructor({ keys, aggregates, time }: GroupingOp, input: Schema, output: Schema) {
    this.keys = keys;
    this.keyTypes = keys.map((key) => {
      const type = input[key]?.type;
      assert(type !== undefined, "a key is a column of the input");
      return type;
    });
    this.aggregates = aggregates;
    this.needsAllValues = aggregates.some(needsAllValues);
    this.#input = input;
    this.#time = time;
    const results = output.slice(output.length - aggregates.length);
    this.outputs = results.map(({ type: { name } }) => new OutputColumn(fixedOf(name)));
    const args = aggregates.flatMap(({ arg, filter }) => [arg, filter]);
    this.#used = [...new Set([time, ...keys, ...args])].filter((index) => index !== undefined);
  }

  createAccumulators(): Accumulator[] {
    return this.aggregates.map((call) => this.createAccumulator(call));
  }

  createAccumulator(call: AggregateCall): Accumulator {
    return createAccumulator(call, this.#input, this.#time);
  }

  /** An empty state, perhaps with the room of one that was given back. */
  take(): GroupState {
    const spare = this.#spares.pop();
    if (spare === undefined) return new GroupState(this);
    this.#spareBytes -= spare.bytes;
    return spare;
  }

  /**
   * Takes back a state that nobody reads any more: to make one anew for each window costs more in
   * the collection of its arrays than in making it.
   */
  give(state: GroupState): void {
    if (this.#spares.length === sparesMax || state.isSparse) return;
    const { bytes } = state;
    if (this.#spares.length >= largeSparesMax && this.#spareBytes + bytes > spareBytesMax) return;
    state.clear();
    this.#spareBytes += state.bytes;
    this.#spares.push(state);
  }

  get spareBytes(): number {
    return this.#spareBytes;
  }

  dropSpares(): void {
    this.#spares.length = 0;
    this.#spareBytes = 0;
  }

  /** The columns of a batch that keys and aggregates read. */
  views(batch: Batch): (ColumnView | undefined)[] {
    const views: (ColumnView | undefined)[] = new Array(batch.columns.length).fill(undefined);
    for (const index of this.#used) views[index] = viewOf(batch.columns[index] as Column);
    return views;
  }
}

/** A result of type VARSIZED makes its own column. */
function fixedOf(name: DataType["name"]): FixedType {
  return name === "VARSIZED" ? "UINT8" : name;
}

let groupNumbers = new Int32Array(8_192);
const zeros = { numbers: new Int32Array(8_192) };

export class GroupState {
  readonly #grouping: Grouping;
  #table: KeyTable;
  readonly #accumulators: Accumulator[];
  /** Without keys there is one group, once there is a row. */
  #hasRows = false;

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
    this.#table = new KeyTable(grouping.keyTypes);
    this.#accumulators = grouping.createAccumulators();
  }

  get groupCount(): number {
    if (this.#grouping.keys.length === 0) return this.#hasRows ? 1 : 0;
    return this.#table.count;
  }

  /** Adds rows of a batch, in the order of their arrival. */
  add(views: readonly (ColumnView | undefined)[], rows: Int32Array, rowCount: number): void {
    const count = rows.length;
    if (count > groupNumbers.length) groupNumbers = new Int32Array(count);
    if (count > zeros.numbers.length) zeros.numbers = new Int32Array(count);
    const { keys, aggregates } = this.#grouping;
    let groups = zeros.numbers;
    if (keys.length === 0) this.#hasRows = true;
    else {
      groups = groupNumbers;
      if (this.#table.count === 0) this.#table.reserve(this.#grouping.groupCountExpected);
      this.#table.add(
        keys.map((key) => views[key] as ColumnView),
        rows,
        groups,
      );
    }
    const groupCount = this.#groupCountRoom;
    const input: AggregateInput = { views, rows, groups, count, rowCount };
    for (const [i, accumulator] of this.#accumulators.entries()) {
      accumulator.reserve(groupCount);
      accumulator.update(filterRows(aggregates[i] as AggregateCall, input));
    }
  }

  /** Forgets all groups and keeps the room for them. */
  clear(): void {
    const count = this.groupCount;
    this.#table.clear();
    this.#hasRows = false;
    const { aggregates } = this.#grouping;
    for (const [i, accumulator] of this.#accumulators.entries()) {
      if (accumulator.clear !== undefined) accumulator.clear(count);
      else this.#accumulators[i] = this.#grouping.createAccumulator(aggregates[i] as AggregateCall);
    }
  }

  get isSparse(): boolean {
    return this.#table.isSparse;
  }

  /** How many groups the accumulators should have room for. */
  get #groupCountRoom(): number {
    const { keys, groupCountExpected } = this.#grouping;
    return keys.length === 0 ? 1 : Math.max(this.#table.count, groupCountExpected);
  }

  /** Takes all groups of another state, which stays as it is. */
  absorb(other: GroupState): void {
    const count = other.groupCount;
    if (count === 0) return;
    if (this.groupCount === 0 && count > 0 && this.#grouping.keys.length > 0) {
      this.#table.copy(other.#table);
      this.#merge(other, allRows(count), count);
      return;
    }
    const map = new Int32Array(count);
    if (this.#grouping.keys.length === 0) this.#hasRows = true;
    else {
      const { keys, hashes } = other.#table;
      this.#table.reserve(this.#table.count + count);
      this.#table.addHashed(keys.views, allRows(count), hashes, map);
    }
    this.#merge(other, map, count);
  }

  #merge(other: GroupState, map: Int32Array, count: number): void {
    for (const [i, accumulator] of this.#accumulators.entries()) {
      accumulator.reserve(this.groupCount);
      accumulator.merge(other.#accumulators[i] as Accumulator, map, count);
    }
  }

  /** Hands out the keys and the results of all groups, a batch at a time. */
  emit(emit: (columns: Column[], rowCount: number) => void): void {
    const count = this.groupCount;
    for (let from = 0; from < count; from += batchRowsMax) {
      const to = Math.min(count, from + batchRowsMax);
      const results = this.#accumulators.map((accumulator, i) =>
        accumulator.finish(from, to, this.#grouping.outputs[i] as OutputColumn),
      );
      emit([...this.#table.keys.columns(from, to), ...results], to - from);
    }
  }

  encode(writer: StateWriter): void {
    const count = this.groupCount;
    writer.number(count).rows(this.#table.keys);
    for (const accumulator of this.#accumulators) accumulator.encode(writer, count);
  }

  decode(reader: StateReader): void {
    this.#hasRows = reader.number() > 0;
    const { keyTypes } = this.#grouping;
    this.#table = new KeyTable(keyTypes, reader.rows(keyTypes));
    for (const accumulator of this.#accumulators) {
      accumulator.decode(reader);
      accumulator.reserve(this.groupCount);
    }
  }

  get bytes(): number {
    return this.#accumulators.reduce((sum, { bytes }) => sum + bytes, this.#table.bytes);
  }
}
