/**
 * Makes watermarks from a column: at the end of a read buffer the watermark is the greatest time so
 * far, less the bound. It never goes back. Rows pass as they are; rules: SX48.
 */
import type { PlanOp, Schema } from "../../../language/core/index.ts";
import type { Batch, Column } from "../batch.ts";
import {
  endOfTime,
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "../operator.ts";
import { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, viewOf } from "../tables/column-view.ts";
import { readTimes, timeAt } from "./times.ts";

type EventTimeOp = Extract<PlanOp, { readonly kind: "eventTime" }>;

const stateKind = "eventTime";
const stateVersion = 1;

export function createEventTime(
  op: EventTimeOp,
  _inputs: readonly Schema[],
  _output: Schema,
  context: OperatorContext,
): Operator {
  return new EventTime(op, context);
}

class EventTime implements Operator {
  readonly #context: OperatorContext;
  readonly #column: number;
  readonly #bound: bigint;
  /** The greatest time so far: a double, unless one beyond 2^53 was seen. */
  #greatest = Number.NEGATIVE_INFINITY;
  #greatestBig: bigint | undefined;
  #watermark = startOfTime;
  #changes = 0;
  #times = new Float64Array(8_192);

  constructor({ column, boundMs }: EventTimeOp, context: OperatorContext) {
    this.#context = context;
    this.#column = column;
    this.#bound = BigInt(boundMs);
  }

  push(_input: number, batch: Batch): void {
    // Time counts before anybody sees the rows, but the watermark grows only with `mark`.
    this.#see(batch);
    this.#context.emit(batch);
  }

  #see(batch: Batch): void {
    const rows = batch.selection ?? allRows(batch.rowCount);
    if (rows.length > this.#times.length) this.#times = new Float64Array(rows.length);
    const column = batch.columns[this.#column] as Column;
    this.#changes += 1;
    if (readTimes(viewOf(column), rows, this.#times)) {
      this.#greatest = greatestOf(this.#times, rows.length, this.#greatest);
      return;
    }
    for (const row of rows) {
      const time = timeAt(column, row);
      if (time === undefined) continue;
      if (this.#greatestBig === undefined || time > this.#greatestBig) this.#greatestBig = time;
    }
  }

  mark(): void {
    let greatest = Number.isFinite(this.#greatest) ? BigInt(this.#greatest) : startOfTime;
    if (this.#greatestBig !== undefined && this.#greatestBig > greatest) {
      greatest = this.#greatestBig;
    }
    if (greatest === startOfTime) return;
    const watermark = greatest - this.#bound;
    if (watermark > this.#watermark) {
      this.#watermark = watermark;
      this.#changes += 1;
    }
  }

  outputWatermark(watermark: bigint): bigint {
    return watermark === endOfTime ? endOfTime : this.#watermark;
  }

  snapshot(): StateSection[] {
    const encode = () =>
      new StateWriter(stateKind, stateVersion)
        .number(this.#changes)
        .bigint(this.#watermark)
        .number(this.#greatest)
        .bigint(this.#greatestBig ?? startOfTime)
        .finish();
    return [{ key: "time", generation: this.#changes, encode }];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      this.#changes = reader.number();
      this.#watermark = reader.bigint();
      this.#greatest = reader.number();
      const big = reader.bigint();
      this.#greatestBig = big === startOfTime ? undefined : big;
    }
  }
}

function greatestOf(times: Float64Array, count: number, least: number): number {
  let greatest = least;
  for (let i = 0; i < count; i += 1) {
    // A NULL is NaN, which is not greater than anything.
    if ((times[i] as number) > greatest) greatest = times[i] as number;
  }
  return greatest;
}
