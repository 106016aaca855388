/**
 * The first rows of each partition of each window, in some order; of equal rows those that arrived
 * first. A window's rows are kept until the watermark reaches its end, and only those that can
 * still be among the first. Rule: SX56.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import { type DataType, type Schema, type TopNOp, widthOf } from "../../../language/core/index.ts";
import { type Batch, batchRowsMax, type Column } from "../batch.ts";
import {
  endOfTime,
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "../operator.ts";
import { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, type ColumnView, viewOf } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { createCompare } from "./compare-rows.ts";
import { timeAt } from "./times.ts";

const stateKind = "topN";
const stateVersion = 1;
const pruneRowsMin = 4_096;

export function createTopN(
  op: TopNOp,
  [input = []]: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return new TopN(op, input, context);
}

class WindowRows {
  readonly start: bigint;
  readonly end: bigint;
  rows: RowStore;
  /** How many there were after the last pruning. */
  kept = 0;
  generation = 0;

  constructor(start: bigint, end: bigint, rows: RowStore) {
    this.start = start;
    this.end = end;
    this.rows = rows;
  }
}

class TopN implements Operator {
  readonly #op: TopNOp;
  readonly #context: OperatorContext;
  readonly #types: readonly DataType[];
  readonly #windows = new Map<string, WindowRows>();
  #watermark = startOfTime;
  #marks = 0;

  constructor(op: TopNOp, input: Schema, context: OperatorContext) {
    this.#op = op;
    this.#context = context;
    this.#types = input.map(({ type }) => type);
    const times = [this.#types[op.start], this.#types[op.end]];
    assert(
      times.every((type) => type !== undefined && widthOf(type.name) === 8),
      "the columns of a window are 64-bit integers",
    );
  }

  push(_input: number, batch: Batch): void {
    const rows = batch.selection ?? allRows(batch.rowCount);
    const views = batch.columns.map(viewOf);
    const late: number[] = [];
    // The rows of one window usually come together.
    for (let from = 0; from < rows.length; ) {
      let to = from + 1;
      while (to < rows.length && this.#isSameWindow(views, rows, from, to)) to += 1;
      const [start, end] = [this.#op.start, this.#op.end].map((column) =>
        timeAt(batch.columns[column] as Column, rows[from] as number),
      );
      const run = rows.subarray(from, to);
      from = to;
      if (start === undefined || end === undefined) continue;
      if (end <= this.#watermark) late.push(...run);
      else this.#add(start, end, views, run);
    }
    this.#tellMemory();
    if (late.length === 0) return;
    const lateMs = Float64Array.from(late, (row) => {
      const end = timeAt(batch.columns[this.#op.end] as Column, row);
      return Number(this.#watermark - (end ?? this.#watermark));
    });
    this.#context.late.add(batch, Int32Array.from(late), lateMs);
  }

  #isSameWindow(views: readonly ColumnView[], rows: Int32Array, a: number, b: number): boolean {
    const [x, y] = [(rows[a] as number) * 2, (rows[b] as number) * 2];
    for (const column of [this.#op.start, this.#op.end]) {
      const { data, validity } = views[column] as ColumnView;
      if (validity !== undefined) return false;
      if (data[x] !== data[y] || data[x + 1] !== data[y + 1]) return false;
    }
    return true;
  }

  #add(start: bigint, end: bigint, views: readonly ColumnView[], rows: Int32Array): void {
    const window = this.#window(start, end);
    window.rows.append(views, rows);
    window.generation += 1;
    if (window.rows.rowCount > pruneAt(window.kept)) this.#prune(window);
  }

  #window(start: bigint, end: bigint): WindowRows {
    const key = `${start} ${end}`;
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new WindowRows(start, end, new RowStore(this.#types));
      this.#windows.set(key, window);
    }
    return window;
  }

  /** Leaves the first rows of each partition, in the order of their arrival. */
  #prune(window: WindowRows): void {
    const { rows } = window;
    const { partition, order, limit } = this.#op;
    const types = partition.map((column) => this.#types[column] as DataType);
    const groups = new Int32Array(rows.rowCount);
    const { views } = rows;
    const keys = new KeyTable(types);
    keys.add(
      partition.map((column) => views[column] as ColumnView),
      allRows(rows.rowCount),
      groups,
    );
    const kept = firstOfGroups(groups, keys.count, limit, createCompare(views, order));
    window.rows = new RowStore(this.#types);
    // Room for all that come before the next pruning, instead of growing step by step.
    window.rows.reserve(pruneAt(kept.length) + batchRowsMax);
    window.rows.append(views, kept);
    window.kept = kept.length;
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#marks += 1;
    for (const [key, window] of this.#windows) {
      if (window.end > watermark && watermark !== endOfTime) continue;
      this.#windows.delete(key);
      this.#prune(window);
      const { rowCount } = window.rows;
      for (let from = 0; from < rowCount; from += batchRowsMax) {
        const to = Math.min(rowCount, from + batchRowsMax);
        const columns = window.rows.columns(from, to);
        this.#context.emit({ rowCount: to - from, columns, selection: undefined });
      }
    }
    this.#tellMemory();
  }

  snapshot(): StateSection[] {
    const meta = {
      key: "meta",
      generation: this.#marks,
      encode: () => {
        const writer = new StateWriter(stateKind, stateVersion);
        return writer.number(this.#marks).bigint(this.#watermark).finish();
      },
    };
    const windows = [...this.#windows].map(([key, window]) => {
      const encode = () => {
        const writer = new StateWriter(stateKind, stateVersion);
        writer.bigint(window.start).bigint(window.end).number(window.generation);
        return writer.rows(window.rows).finish();
      };
      return { key: `window ${key}`, generation: window.generation, encode };
    });
    return [meta, ...windows];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { key, bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      if (key === "meta") {
        this.#marks = reader.number();
        this.#watermark = reader.bigint();
        continue;
      }
      const window = this.#window(reader.bigint(), reader.bigint());
      window.generation = reader.number();
      window.rows = reader.rows(this.#types);
      window.kept = window.rows.rowCount;
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    let bytes = 0;
    for (const { rows } of this.#windows.values()) bytes += rows.bytes;
    this.#context.memory.set(bytes);
  }
}

/** How many rows a window may have that had so many after the last pruning. */
function pruneAt(kept: number): number {
  return 2 * kept + pruneRowsMin;
}

/**
 * The first `limit` rows of each group, in the order of their numbers. Rows are put together by
 * group first, so that only groups with too many rows are compared.
 */
function firstOfGroups(
  groups: Int32Array,
  groupCount: number,
  limit: number,
  compare: (a: number, b: number) => number,
): Int32Array {
  const rowCount = groups.length;
  const ends = new Int32Array(groupCount + 1);
  for (let row = 0; row < rowCount; row += 1) {
    const at = (groups[row] as number) + 1;
    ends[at] = (ends[at] as number) + 1;
  }
  for (let group = 1; group <= groupCount; group += 1) {
    ends[group] = (ends[group] as number) + (ends[group - 1] as number);
  }
  const ordered = new Int32Array(rowCount);
  for (let row = 0; row < rowCount; row += 1) {
    const group = groups[row] as number;
    const at = ends[group] as number;
    ordered[at] = row;
    ends[group] = at + 1;
  }
  const isKept = new Uint8Array(rowCount);
  let keptCount = 0;
  for (let group = 0, from = 0; group < groupCount; group += 1) {
    const to = ends[group] as number;
    const first = Math.min(limit, to - from);
    if (to - from > limit) ordered.subarray(from, to).sort((a, b) => compare(a, b) || a - b);
    for (let i = from; i < from + first; i += 1) isKept[ordered[i] as number] = 1;
    keptCount += first;
    from = to;
  }
  const kept = new Int32Array(keptCount);
  for (let row = 0, at = 0; at < keptCount; row += 1) {
    if (isKept[row] === 1) kept[at++] = row;
  }
  return kept;
}
