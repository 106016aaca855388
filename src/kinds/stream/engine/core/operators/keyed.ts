/**
 * Operators with a state for each key: the value some rows before, the newest value, the first row.
 * Rows of a key count in the order of their arrival. A key is forgotten when it was not seen for
 * `ttlMs` of event time: by the time of the row that comes, or by the watermark. Rule: SX57.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import {
  type DataType,
  type KeyedOp,
  nullable,
  type Schema,
} from "../../../language/core/index.ts";
import { type Batch, type Column, isValid } from "../batch.ts";
import {
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "../operator.ts";
import { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, viewOf } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { loadTimePairs, type TimePair, timeBetween, toTimePair } from "../tables/time-pairs.ts";

const stateKind = "keyed";
const stateVersion = 1;
const packMin = 4_096;

export function createKeyed(
  op: KeyedOp,
  [input = []]: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return new Keyed(op, input, context);
}

class Keyed implements Operator {
  readonly #op: KeyedOp;
  readonly #context: OperatorContext;
  readonly #keyTypes: readonly DataType[];
  readonly #valueTypes: readonly DataType[];
  /** How many values of a key are kept. */
  readonly #depth: number;
  #keys: KeyTable;
  /** For each key: the greatest time at which it was seen, as a pair; NaN when forgotten. */
  #seen = new Float64Array(2 * 16).fill(Number.NaN);
  /** The values that are kept, among others that no longer are. Row 0 is NULL. */
  #values: RowStore;
  /** For each key: the rows of its values, the newest first; 0 where there is none. */
  #rows = new Int32Array(0);
  #keptKeys = 0;
  #watermark = startOfTime;
  #now: TimePair = toTimePair(startOfTime);
  #changes = 0;

  constructor(op: KeyedOp, input: Schema, context: OperatorContext) {
    this.#op = op;
    this.#context = context;
    this.#keyTypes = op.keys.map((key) => {
      const type = input[key]?.type;
      assert(type !== undefined, "a key is a column of the input");
      return type;
    });
    const { fn } = op;
    const arg = fn.kind === "deduplicate" ? undefined : input[fn.arg]?.type;
    this.#valueTypes = arg === undefined ? [] : [nullable(arg.name)];
    this.#depth = fn.kind === "lag" ? fn.offset : fn.kind === "lastValue" ? 1 : 0;
    this.#keys = new KeyTable(this.#keyTypes);
    this.#values = this.#emptyValues();
  }

  #emptyValues(): RowStore {
    const store = new RowStore(this.#valueTypes);
    store.appendNulls(1);
    return store;
  }

  push(_input: number, batch: Batch): void {
    const rows = batch.selection ?? allRows(batch.rowCount);
    const count = rows.length;
    this.#changes += 1;
    const keys = new Int32Array(count);
    const keyViews = this.#op.keys.map((key) => viewOf(batch.columns[key] as Column));
    this.#keys.add(keyViews, rows, keys);
    this.#reserve(this.#keys.count);
    const times = new Float64Array(2 * count);
    loadTimePairs(viewOf(batch.columns[this.#op.time] as Column), rows, times);
    const { fn } = this.#op;
    if (fn.kind === "deduplicate") this.#passFirst(batch, rows, keys, times);
    else this.#addColumn(batch, rows, keys, times, fn.arg, fn.kind === "lag");
    this.#tellMemory();
  }

  #reserve(keyCount: number): void {
    const capacity = this.#seen.length / 2;
    if (keyCount > capacity) {
      const seen = new Float64Array(4 * keyCount).fill(Number.NaN);
      seen.set(this.#seen);
      this.#seen = seen;
    }
    const needed = (this.#seen.length / 2) * this.#depth;
    if (needed > this.#rows.length) {
      const larger = new Int32Array(needed);
      larger.set(this.#rows);
      this.#rows = larger;
    }
  }

  /** Notes that a key was seen; whether there was no memory of it. */
  #see(key: number, high: number, low: number): boolean {
    const seen = this.#seen;
    const at = 2 * key;
    const isNew = Number.isNaN(seen[at]) || this.#isForgotten(key, high, low);
    const sinceMs = timeBetween(high, low, seen[at] as number, seen[at + 1] as number);
    // A row without a time reminds nobody of its key, unless it is the first.
    if (Number.isNaN(high)) {
      if (isNew) {
        seen[at] = this.#now.high;
        seen[at + 1] = this.#now.low;
      }
    } else if (isNew || sinceMs > 0) {
      seen[at] = high;
      seen[at + 1] = low;
    }
    return isNew;
  }

  #isForgotten(key: number, high: number, low: number): boolean {
    const { ttlMs } = this.#op;
    if (ttlMs === undefined) return false;
    const [seenHigh, seenLow] = [this.#seen[2 * key] as number, this.#seen[2 * key + 1] as number];
    if (timeBetween(high, low, seenHigh, seenLow) > ttlMs) return true;
    return timeBetween(this.#now.high, this.#now.low, seenHigh, seenLow) > ttlMs;
  }

  #passFirst(batch: Batch, rows: Int32Array, keys: Int32Array, times: Float64Array): void {
    const passed = new Int32Array(rows.length);
    let count = 0;
    for (let i = 0; i < rows.length; i += 1) {
      if (!this.#see(keys[i] as number, times[2 * i] as number, times[2 * i + 1] as number))
        continue;
      passed[count] = rows[i] as number;
      count += 1;
    }
    if (count === 0) return;
    this.#context.emit({ ...batch, selection: passed.subarray(0, count) });
  }

  #addColumn(
    batch: Batch,
    rows: Int32Array,
    keys: Int32Array,
    times: Float64Array,
    arg: number,
    isLag: boolean,
  ): void {
    const view = viewOf(batch.columns[arg] as Column);
    const base = this.#values.rowCount;
    this.#values.append([view], rows);
    const depth = this.#depth;
    // The result stands at the row numbers of the batch, so the other columns stay as they are.
    const results = new Int32Array(batch.rowCount);
    const kept = this.#rows;
    for (let i = 0; i < rows.length; i += 1) {
      const key = keys[i] as number;
      const row = rows[i] as number;
      const first = key * depth;
      if (this.#see(key, times[2 * i] as number, times[2 * i + 1] as number)) {
        kept.fill(0, first, first + depth);
      }
      if (isLag) {
        results[row] = kept[first + depth - 1] as number;
        kept.copyWithin(first + 1, first, first + depth - 1);
        kept[first] = base + i;
      } else {
        if (isValid(view.validity, row)) kept[first] = base + i;
        results[row] = kept[first] as number;
      }
    }
    const added = new RowStore(this.#valueTypes);
    added.append(this.#values.views, results);
    this.#context.emit({
      ...batch,
      columns: [...batch.columns, ...added.columns(0, batch.rowCount)],
    });
    if (this.#values.rowCount > 2 * depth * this.#keys.count + packMin) this.#packValues();
  }

  /** Lets go of values that no key has any more. */
  #packValues(): void {
    const used = this.#keys.count * this.#depth;
    const values = this.#emptyValues();
    values.append(
      this.#values.views,
      this.#rows.subarray(0, used).filter((row) => row !== 0),
    );
    let next = 1;
    for (let i = 0; i < used; i += 1) {
      if (this.#rows[i] === 0) continue;
      this.#rows[i] = next;
      next += 1;
    }
    this.#values = values;
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#now = toTimePair(watermark);
    this.#changes += 1;
    if (this.#keys.count > 2 * this.#keptKeys + packMin) this.#packKeys();
    this.#tellMemory();
  }

  /** Lets go of keys that are forgotten. */
  #packKeys(): void {
    const { high, low } = this.#now;
    const live = allRows(this.#keys.count).filter((key) => !this.#isForgotten(key, high, low));
    this.#keptKeys = live.length;
    if (live.length === this.#keys.count) return;
    const keys = new KeyTable(this.#keyTypes);
    keys.add(this.#keys.keys.views, live, new Int32Array(live.length));
    const seen = new Float64Array(2 * Math.max(16, live.length)).fill(Number.NaN);
    const rows = new Int32Array((seen.length / 2) * this.#depth);
    for (let i = 0; i < live.length; i += 1) {
      const key = live[i] as number;
      seen[2 * i] = this.#seen[2 * key] as number;
      seen[2 * i + 1] = this.#seen[2 * key + 1] as number;
      const from = key * this.#depth;
      rows.set(this.#rows.subarray(from, from + this.#depth), i * this.#depth);
    }
    this.#keys = keys;
    this.#seen = seen;
    this.#rows = rows;
    this.#packValues();
  }

  snapshot(): StateSection[] {
    const encode = () => {
      this.#packValues();
      const count = this.#keys.count;
      const writer = new StateWriter(stateKind, stateVersion);
      writer.number(this.#changes).bigint(this.#watermark).rows(this.#keys.keys);
      writer.array(this.#seen.subarray(0, 2 * count)).rows(this.#values);
      return writer.array(this.#rows.subarray(0, count * this.#depth)).finish();
    };
    return [{ key: "keys", generation: this.#changes, encode }];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      this.#changes = reader.number();
      this.#watermark = reader.bigint();
      this.#now = toTimePair(this.#watermark);
      this.#keys = new KeyTable(this.#keyTypes, reader.rows(this.#keyTypes));
      this.#keptKeys = this.#keys.count;
      this.#seen = reader.float64();
      this.#values = reader.rows(this.#valueTypes);
      this.#rows = reader.int32();
      this.#reserve(this.#keys.count + 1);
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    const arrays = this.#seen.byteLength + this.#rows.byteLength;
    this.#context.memory.set(this.#keys.bytes + this.#values.bytes + arrays);
  }
}
