/**
 * Joins the rows of two inputs that fall into the same window, INNER, LEFT, RIGHT or FULL. Rows are
 * kept by slice until the last window that has the slice fired; a window is joined when the
 * watermark of both inputs reaches its end. Rules: SX49 to SX52.
 */
import type { Schema, WindowJoinOp } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
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
import { createJoinLoops, JoinTable } from "../tables/join-table.ts";
import { RowStore } from "../tables/row-store.ts";
import { SliceAssigner } from "./assign-slices.ts";
import { JoinOutput } from "./join-output.ts";
import { metaSection } from "./meta-section.ts";
import { type FiredWindow, Timeline } from "./timeline.ts";
import { WindowColumns } from "./window-columns.ts";
import { WindowShape } from "./window-shape.ts";

const stateKind = "windowJoin";
const stateVersion = 1;
/**
 * Stores of slices that have ended are filled again: growing anew for each slice is dear. So many
 * of any size are kept, and more that are small.
 */
const largeSparesMax = 2;
const spareBytesMax = 4 * 1_024 * 1_024;

export function createWindowJoin(
  op: WindowJoinOp,
  [left = [], right = []]: readonly Schema[],
  output: Schema,
  context: OperatorContext,
): Operator {
  return new WindowJoin(op, left, right, output, context);
}

class Slice {
  readonly index: bigint;
  left: RowStore;
  right: RowStore;
  generation = 0;
  /** What it was counted with in the operator's memory. */
  counted = 0;

  constructor(index: bigint, left: RowStore, right: RowStore) {
    this.index = index;
    this.left = left;
    this.right = right;
  }

  get bytes(): number {
    return this.left.bytes + this.right.bytes;
  }
}

class WindowJoin implements Operator {
  readonly #op: WindowJoinOp;
  readonly #context: OperatorContext;
  readonly #schemas: readonly [Schema, Schema];
  readonly #columns: WindowColumns;
  readonly #output: JoinOutput;
  readonly #table: JoinTable;
  readonly #shape: WindowShape;
  readonly #timeline: Timeline<Slice>;
  readonly #assigners: readonly SliceAssigner<Slice>[];
  readonly #spares: { readonly left: RowStore; readonly right: RowStore; bytes: number }[] = [];
  #watermark = startOfTime;
  /** What the slices and the spare stores take. */
  #bytes = 0;
  #spareBytes = 0;
  #marks = 0;

  constructor(
    op: WindowJoinOp,
    left: Schema,
    right: Schema,
    output: Schema,
    context: OperatorContext,
  ) {
    this.#op = op;
    this.#context = context;
    this.#schemas = [left, right];
    this.#columns = new WindowColumns(output);
    this.#output = new JoinOutput(left, right, op.residual, context.emit);
    this.#output.head = (rowCount) => this.#columns.columns(rowCount);
    this.#table = new JoinTable(createJoinLoops(op.keys, left, right));
    this.#shape = new WindowShape(op.window);
    this.#timeline = new Timeline(this.#shape, (index) => this.#createSlice(index));
    const { late } = context;
    this.#assigners = [
      new SliceAssigner(op.window, op.leftTime, this.#timeline, late),
      new SliceAssigner(op.window, op.rightTime, this.#timeline, late),
    ];
  }

  push(input: number, batch: Batch): void {
    const views = batch.columns.map(viewOf);
    for (const { slice, rows } of this.#assigners[input]?.assign(batch) ?? []) {
      (input === 0 ? slice.left : slice.right).append(views, rows);
      slice.generation += 1;
      this.#count(slice);
    }
    this.#tellMemory();
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#marks += 1;
    for (const assigner of this.#assigners) assigner.watermark = watermark;
    this.#timeline.advance(
      watermark,
      (window) => this.#fire(window),
      (slice) => this.#drop(slice),
    );
    if (watermark === endOfTime) this.#table.clear();
    this.#tellMemory();
  }

  outputWatermark(watermark: bigint): bigint {
    return this.#shape.watermarkBehind(watermark);
  }

  #createSlice(index: bigint): Slice {
    const [left, right] = this.#schemas;
    const spare = this.#spares.pop();
    if (spare === undefined) return new Slice(index, storeOf(left), storeOf(right));
    this.#bytes -= spare.bytes;
    this.#spareBytes -= spare.bytes;
    return new Slice(index, spare.left, spare.right);
  }

  #drop({ left, right, counted }: Slice): void {
    this.#bytes -= counted;
    left.clear();
    right.clear();
    const bytes = left.bytes + right.bytes;
    const isLarge = this.#spareBytes + bytes > spareBytesMax;
    if (isLarge && this.#spares.length >= largeSparesMax) return;
    this.#spares.push({ left, right, bytes });
    this.#spareBytes += bytes;
    this.#bytes += bytes;
  }

  #fire({ start, end, slices }: FiredWindow<Slice>): void {
    const { join, keys } = this.#op;
    const keepsLeft = join === "left" || join === "full";
    const keepsRight = join === "right" || join === "full";
    const right = together(slices.map((slice) => slice.right));
    if (right.rowCount === 0 && !keepsLeft) return;
    this.#columns.set(start, end);
    const rightViews = right.views;
    const table = this.#table;
    table.build(pick(rightViews, keys, "right"), right.rowCount);
    const copied = slices.some((slice) => slice.right === right) ? 0 : right.bytes;
    this.#context.memory.set(this.#bytes + table.bytes + copied);
    const matchedRight = new Uint8Array(keepsRight ? right.rowCount : 0);
    for (const { left } of slices) {
      const leftViews = left.views;
      const matchedLeft = new Uint8Array(keepsLeft ? left.rowCount : 0);
      table.probe(pick(leftViews, keys, "left"), left.rowCount, (leftRows, rightRows) => {
        const passed = this.#output.pairs(leftViews, leftRows, rightViews, rightRows);
        if (keepsLeft) markRows(matchedLeft, leftRows, passed);
        if (keepsRight) markRows(matchedRight, rightRows, passed);
      });
      if (keepsLeft) this.#output.alone("left", leftViews, matchedLeft, left.rowCount);
    }
    if (keepsRight) this.#output.alone("right", rightViews, matchedRight, right.rowCount);
  }

  snapshot(): StateSection[] {
    const meta = metaSection(stateKind, stateVersion, this.#marks, this.#watermark);
    const slices = this.#timeline.slices().map((slice) => {
      return {
        key: `slice ${slice.index}`,
        generation: slice.generation,
        encode: () => {
          const writer = new StateWriter(stateKind, stateVersion);
          writer.bigint(slice.index).number(slice.generation);
          return writer.rows(slice.left).rows(slice.right).finish();
        },
      };
    });
    return [meta, ...slices];
  }

  restore(sections: readonly SavedSection[]): void {
    const [left, right] = this.#schemas;
    for (const { key, bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      if (key === "meta") {
        this.#marks = reader.number();
        this.#watermark = reader.bigint();
        for (const assigner of this.#assigners) assigner.watermark = this.#watermark;
        if (this.#watermark > startOfTime) this.#timeline.resume(this.#watermark);
        continue;
      }
      const slice = this.#timeline.slice(reader.bigint());
      slice.generation = reader.number();
      slice.left = reader.rows(left.map(({ type }) => type));
      slice.right = reader.rows(right.map(({ type }) => type));
      this.#count(slice);
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    this.#context.memory.set(this.#bytes + this.#table.bytes);
  }

  #count(slice: Slice): void {
    this.#bytes += slice.bytes - slice.counted;
    slice.counted = slice.bytes;
  }
}

function storeOf(schema: Schema): RowStore {
  return new RowStore(schema.map(({ type }) => type));
}

/** The rows of several slices in one store; that of a single slice is not copied. */
function together(stores: readonly RowStore[]): RowStore {
  const filled = stores.filter(({ rowCount }) => rowCount > 0);
  const [first] = filled.length > 0 ? filled : stores;
  if (first === undefined || filled.length <= 1) return first ?? new RowStore([]);
  const whole = new RowStore(first.types);
  for (const store of filled) whole.append(store.views, allRows(store.rowCount));
  return whole;
}

function pick(
  views: readonly ColumnView[],
  keys: WindowJoinOp["keys"],
  side: "left" | "right",
): ColumnView[] {
  return keys.map((key) => views[key[side]] as ColumnView);
}

/** Marks the rows of the pairs at `passed`, or of all pairs. */
function markRows(matched: Uint8Array, rows: Int32Array, passed: Int32Array | undefined): void {
  if (passed === undefined) for (const row of rows) matched[row] = 1;
  else for (const place of passed) matched[rows[place] as number] = 1;
}
