/**
 * Joins rows whose times lie within an interval of each other. A pair is emitted when its second
 * row arrives. Rule: SX54.
 *
 * A left row waits for right rows until the watermark has passed its time plus `upperMs`, a right
 * row for left ones until it has passed its time less `lowerMs`. What has waited long enough finds
 * nobody any more, whether it is swept out yet or not. A row that arrives then is late, if it is
 * behind the watermark at all: with an interval on one side of 0, rows may come that wait for none.
 */
import type { IntervalJoinOp, Schema } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import {
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "../operator.ts";
import { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, type ColumnView, viewOf } from "../tables/column-view.ts";
import { createJoinLoops } from "../tables/join-table.ts";
import { loadTimePairs, type TimePair, timeBetween, toTimePair } from "../tables/time-pairs.ts";
import { IntervalSide } from "./interval-side.ts";
import { JoinOutput } from "./join-output.ts";
import { metaSection } from "./meta-section.ts";

const stateKind = "intervalJoin";
const stateVersion = 1;

export function createIntervalJoin(
  op: IntervalJoinOp,
  [left = [], right = []]: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return new IntervalJoin(op, left, right, context);
}

class IntervalJoin implements Operator {
  readonly #op: IntervalJoinOp;
  readonly #context: OperatorContext;
  readonly #output: JoinOutput;
  readonly #left: IntervalSide;
  readonly #right: IntervalSide;
  #watermark = startOfTime;
  #now: TimePair = toTimePair(startOfTime);
  #marks = 0;

  constructor(op: IntervalJoinOp, left: Schema, right: Schema, context: OperatorContext) {
    this.#op = op;
    this.#context = context;
    this.#output = new JoinOutput(left, right, op.residual, context.emit);
    const swapped = op.keys.map((key) => ({ ...key, left: key.right, right: key.left }));
    this.#left = new IntervalSide({
      schema: left,
      time: op.leftTime,
      keys: op.keys.map((key) => key.left),
      loops: createJoinLoops(swapped, right, left),
    });
    this.#right = new IntervalSide({
      schema: right,
      time: op.rightTime,
      keys: op.keys.map((key) => key.right),
      loops: createJoinLoops(op.keys, left, right),
    });
  }

  push(input: number, batch: Batch): void {
    const [own, other] = input === 0 ? [this.#left, this.#right] : [this.#right, this.#left];
    const views = batch.columns.map(viewOf);
    const base = own.rowCount;
    own.append(views, this.#punctual(input, batch, views));
    other.probe(own, base, (rows, found, count) => {
      const [left, right] = input === 0 ? [rows, found] : [found, rows];
      const kept = this.#within(input, left, right, count);
      if (kept === 0) return;
      this.#output.pairs(
        this.#left.views,
        left.subarray(0, kept),
        this.#right.views,
        right.subarray(0, kept),
      );
    });
    this.#tellMemory();
  }

  /** The rows of a batch that can still find somebody; the others are late. */
  #punctual(input: number, batch: Batch, views: readonly ColumnView[]): Int32Array {
    const rows = batch.selection ?? allRows(batch.rowCount);
    const times = new Float64Array(2 * rows.length);
    const time = input === 0 ? this.#op.leftTime : this.#op.rightTime;
    loadTimePairs(views[time] as ColumnView, rows, times);
    const waitsMs = input === 0 ? this.#op.upperMs : -this.#op.lowerMs;
    const kept = new Int32Array(rows.length);
    const [late, lateMs]: [number[], number[]] = [[], []];
    let count = 0;
    for (let i = 0; i < rows.length; i += 1) {
      const high = times[2 * i] as number;
      const low = times[2 * i + 1] as number;
      // A row without a time is near to none.
      if (Number.isNaN(high)) continue;
      const behindMs = timeBetween(this.#now.high, this.#now.low, high, low);
      if (behindMs > waitsMs && behindMs > 0) {
        late.push(rows[i] as number);
        lateMs.push(behindMs);
        continue;
      }
      kept[count] = rows[i] as number;
      count += 1;
    }
    if (late.length > 0) {
      this.#context.late.add(batch, Int32Array.from(late), Float64Array.from(lateMs));
    }
    return kept.subarray(0, count);
  }

  /** Moves the pairs within the interval whose first row still waits to the front; how many. */
  #within(input: number, left: Int32Array, right: Int32Array, count: number): number {
    const { lowerMs, upperMs } = this.#op;
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const l = left[i] as number;
      const r = right[i] as number;
      const betweenMs = this.#left.timeBetween(l, this.#right.timeOf(r));
      if (betweenMs < lowerMs || betweenMs > upperMs) continue;
      const hasGone = input === 0 ? this.#hasRightGone(r) : this.#hasLeftGone(l);
      if (hasGone) continue;
      left[kept] = l;
      right[kept] = r;
      kept += 1;
    }
    return kept;
  }

  #hasLeftGone(row: number): boolean {
    return this.#left.timeBetween(row, this.#now) > this.#op.upperMs;
  }

  #hasRightGone(row: number): boolean {
    return this.#right.timeBetween(row, this.#now) > -this.#op.lowerMs;
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#now = toTimePair(watermark);
    this.#marks += 1;
    this.#left.sweep((row) => this.#hasLeftGone(row));
    this.#right.sweep((row) => this.#hasRightGone(row));
    this.#tellMemory();
  }

  snapshot(): StateSection[] {
    const meta = metaSection(stateKind, stateVersion, this.#marks, this.#watermark);
    const side = (key: string, rows: IntervalSide): StateSection => ({
      key,
      generation: rows.generation,
      encode: () => {
        const writer = new StateWriter(stateKind, stateVersion);
        rows.encode(writer);
        return writer.finish();
      },
    });
    return [meta, side("left", this.#left), side("right", this.#right)];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { key, bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      if (key === "left") this.#left.decode(reader);
      else if (key === "right") this.#right.decode(reader);
      else {
        this.#marks = reader.number();
        this.#watermark = reader.bigint();
        this.#now = toTimePair(this.#watermark);
      }
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    this.#context.memory.set(this.#left.bytes + this.#right.bytes);
  }
}
