/**
 * The first rows of each partition of each window, in some order; of equal rows those that arrived
 * first. A window's rows are kept until the watermark reaches its end. Rule: SX56.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Field, Schema, TopNOp } from "../../../language/core/index.ts";
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
import { OutputColumn } from "../tables/output-column.ts";
import { metaSection } from "./meta-section.ts";
import { timeAt } from "./times.ts";
import { type Ranking, TopRows } from "./top-rows.ts";

const stateKind = "topN";
const stateVersion = 2;

export function createTopN(
  op: TopNOp,
  [input = []]: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return new TopN(op, input, context);
}

/** The rows of one window, without its times, which are the same for all of them. */
class WindowRows {
  readonly start: bigint;
  readonly end: bigint;
  readonly top: TopRows;
  generation = 0;

  constructor(start: bigint, end: bigint, top: TopRows) {
    this.start = start;
    this.end = end;
    this.top = top;
  }
}

class TopN implements Operator {
  readonly #op: TopNOp;
  readonly #context: OperatorContext;
  readonly #ranking: Ranking;
  /** The columns of the input that rows are kept with. */
  readonly #kept: readonly number[];
  readonly #start: OutputColumn;
  readonly #end: OutputColumn;
  readonly #windows = new Map<string, WindowRows>();
  #watermark = startOfTime;
  #marks = 0;

  constructor(op: TopNOp, input: Schema, context: OperatorContext) {
    this.#op = op;
    this.#context = context;
    const [start, end] = [op.start, op.end].map((column) => {
      const type = input[column]?.type.name;
      assert(type === "UINT64" || type === "INT64", "the times of a window are 64-bit integers");
      return new OutputColumn(type);
    }) as [OutputColumn, OutputColumn];
    [this.#start, this.#end] = [start, end];
    const isTime = (column: number): boolean => column === op.start || column === op.end;
    const kept = input.flatMap((_, column) => (isTime(column) ? [] : [column]));
    this.#kept = kept;
    this.#ranking = {
      types: kept.map((column) => (input[column] as Field).type),
      partition: op.partition.filter((column) => !isTime(column)).map((at) => kept.indexOf(at)),
      order: op.order
        .filter(({ column }) => !isTime(column))
        .map(({ column, descending }) => ({ column: kept.indexOf(column), descending })),
      limit: op.limit,
    };
  }

  push(_input: number, batch: Batch): void {
    const rows = batch.selection ?? allRows(batch.rowCount);
    const views = batch.columns.map(viewOf);
    const keptViews = this.#kept.map((column) => views[column] as ColumnView);
    const late: number[] = [];
    const times = [this.#op.start, this.#op.end].map((column) => views[column] as ColumnView);
    // The rows of one window usually come together.
    for (let from = 0; from < rows.length; ) {
      const to = times.reduce((end, view) => endOfRun(view, rows, from, end), rows.length);
      const [start, end] = [this.#op.start, this.#op.end].map((column) =>
        timeAt(batch.columns[column] as Column, rows[from] as number),
      );
      const run = rows.subarray(from, to);
      from = to;
      if (start === undefined || end === undefined) continue;
      if (end <= this.#watermark) late.push(...run);
      else this.#add(start, end, keptViews, run);
    }
    this.#tellMemory();
    if (late.length === 0) return;
    const lateMs = Float64Array.from(late, (row) => {
      const end = timeAt(batch.columns[this.#op.end] as Column, row);
      return Number(this.#watermark - (end ?? this.#watermark));
    });
    this.#context.late.add(batch, Int32Array.from(late), lateMs);
  }

  #add(start: bigint, end: bigint, views: readonly ColumnView[], rows: Int32Array): void {
    const window = this.#window(start, end);
    window.top.add(views, rows);
    window.generation += 1;
  }

  #window(start: bigint, end: bigint): WindowRows {
    const key = `${start} ${end}`;
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new WindowRows(start, end, new TopRows(this.#ranking));
      this.#windows.set(key, window);
    }
    return window;
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#marks += 1;
    for (const [key, window] of this.#windows) {
      if (window.end > watermark && watermark !== endOfTime) continue;
      this.#windows.delete(key);
      this.#emit(window);
    }
    this.#tellMemory();
  }

  #emit({ start, end, top }: WindowRows): void {
    const { start: startAt, end: endAt } = this.#op;
    (this.#start.values as BigInt64Array).fill(start);
    (this.#end.values as BigInt64Array).fill(end);
    const rows = top.finish();
    for (let from = 0; from < rows.rowCount; from += batchRowsMax) {
      const rowCount = Math.min(rows.rowCount - from, batchRowsMax);
      const columns: Column[] = [];
      for (const [i, column] of rows.columns(from, from + rowCount).entries()) {
        columns[this.#kept[i] as number] = column;
      }
      columns[startAt] = this.#start.column(rowCount);
      columns[endAt] = this.#end.column(rowCount);
      this.#context.emit({ rowCount, columns, selection: undefined });
    }
  }

  snapshot(): StateSection[] {
    const meta = metaSection(stateKind, stateVersion, this.#marks, this.#watermark);
    const windows = [...this.#windows].map(([key, window]) => {
      const encode = () => {
        const writer = new StateWriter(stateKind, stateVersion);
        writer.bigint(window.start).bigint(window.end).number(window.generation);
        return writer.rows(window.top.rows).finish();
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
      const rows = reader.rows(this.#ranking.types);
      window.top.add(rows.views, allRows(rows.rowCount));
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    let bytes = 0;
    for (const { top } of this.#windows.values()) bytes += top.bytes;
    this.#context.memory.set(bytes);
  }
}

/** Where the rows end, at `to` the latest, that have the same time as the first of them. */
function endOfRun(
  { data, validity }: ColumnView,
  rows: Int32Array,
  from: number,
  to: number,
): number {
  if (validity !== undefined) return from + 1;
  const first = (rows[from] as number) * 2;
  const [low, high] = [data[first], data[first + 1]];
  for (let i = from + 1; i < to; i += 1) {
    const at = (rows[i] as number) * 2;
    if (data[at] !== low || data[at + 1] !== high) return i;
  }
  return to;
}
