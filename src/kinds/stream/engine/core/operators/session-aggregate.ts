/**
 * Aggregates over sessions: the rows of a key without a pause of `gapMs` between two of them. A
 * session begins with its first row and ends `gapMs` after its last one; it is emitted when the
 * watermark reaches its end. A row is late when it would make a session that has already ended, and
 * no session is there that it could join. Rule: SX41.
 */
import type { Schema, WindowAggregateOp } from "../../../language/core/index.ts";
import type { Accumulator, AggregateInput } from "../aggregates/accumulator.ts";
import { filterRows } from "../aggregates/create-accumulator.ts";
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
import { allRows, type ColumnView } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { OutputColumn } from "../tables/output-column.ts";
import { loadTimePairs, type TimePair, timeBetween, toTimePair } from "../tables/time-pairs.ts";
import { Grouping } from "./group-state.ts";
import { SessionTable } from "./session-table.ts";
import { clampTime } from "./window-columns.ts";

const stateKind = "sessionAggregate";
const stateVersion = 1;
const packPartsMin = 4_096;

export class SessionAggregate implements Operator {
  readonly #context: OperatorContext;
  readonly #grouping: Grouping;
  readonly #time: number;
  readonly #gapMs: number;
  readonly #signed: boolean;
  readonly #bounds: readonly [OutputColumn, OutputColumn];
  #keys: KeyTable;
  #sessions: SessionTable;
  #accumulators: Accumulator[];
  #watermark = startOfTime;
  #now: TimePair = toTimePair(startOfTime);
  #changes = 0;

  constructor(
    op: WindowAggregateOp,
    gapMs: number,
    input: Schema,
    output: Schema,
    context: OperatorContext,
  ) {
    this.#context = context;
    this.#grouping = new Grouping(op, input, output);
    this.#time = op.time;
    this.#gapMs = gapMs;
    this.#signed = output[0]?.type.name === "INT64";
    const type = this.#signed ? "INT64" : "UINT64";
    this.#bounds = [new OutputColumn(type), new OutputColumn(type)];
    this.#keys = new KeyTable(this.#grouping.keyTypes);
    this.#sessions = new SessionTable(gapMs);
    this.#accumulators = this.#grouping.createAccumulators();
  }

  push(_input: number, batch: Batch): void {
    const views = this.#grouping.views(batch);
    const all = batch.selection ?? allRows(batch.rowCount);
    const keys = new Int32Array(all.length);
    this.#keys.add(
      this.#grouping.keys.map((key) => views[key] as ColumnView),
      all,
      keys,
    );
    const times = new Float64Array(2 * all.length);
    loadTimePairs(views[this.#time] as ColumnView, all, times);
    const [rows, groups] = [new Int32Array(all.length), new Int32Array(all.length)];
    const [late, lateMs]: [number[], number[]] = [[], []];
    let count = 0;
    for (let i = 0; i < all.length; i += 1) {
      const high = times[2 * i] as number;
      const low = times[2 * i + 1] as number;
      if (Number.isNaN(high)) continue;
      const part = this.#sessions.place(keys[i] as number, high, low, this.#now);
      if (part < 0) {
        late.push(all[i] as number);
        lateMs.push(timeBetween(this.#now.high, this.#now.low, high, low));
        continue;
      }
      rows[count] = all[i] as number;
      groups[count] = part;
      count += 1;
    }
    const input = { views, rows: rows.subarray(0, count), groups, count, rowCount: batch.rowCount };
    this.#aggregate(input);
    this.#changes += 1;
    this.#tellMemory();
    if (late.length > 0) {
      this.#context.late.add(batch, Int32Array.from(late), Float64Array.from(lateMs));
    }
  }

  #aggregate(input: AggregateInput): void {
    for (const [i, accumulator] of this.#accumulators.entries()) {
      accumulator.reserve(this.#sessions.partCount);
      const call = this.#grouping.aggregates[i];
      if (call !== undefined) accumulator.update(filterRows(call, input));
    }
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#now = toTimePair(watermark);
    this.#changes += 1;
    const ended = this.#sessions.end(watermark === endOfTime ? undefined : this.#now);
    if (ended.length > 0) this.#emit(ended);
    if (this.#sessions.partCount > 2 * this.#sessions.liveCount + packPartsMin) this.#pack();
    this.#tellMemory();
  }

  #emit(ended: readonly number[]): void {
    const keys = this.#keysOf(ended);
    const results = this.#merged(ended);
    for (let from = 0; from < ended.length; from += batchRowsMax) {
      const to = Math.min(ended.length, from + batchRowsMax);
      this.#setBounds(ended, from, to);
      const columns: Column[] = [
        ...this.#bounds.map((bound) => bound.column(to - from)),
        ...keys.columns(from, to),
        ...results.map((result, i) =>
          result.finish(from, to, this.#grouping.outputs[i] as OutputColumn),
        ),
      ];
      this.#context.emit({ rowCount: to - from, columns, selection: undefined });
    }
  }

  /** The keys of sessions, in their order, as rows. */
  #keysOf(sessions: readonly number[]): KeyTable["keys"] {
    const { keys } = new KeyTable(this.#grouping.keyTypes);
    const rows = Int32Array.from(sessions, (part) => this.#sessions.keyOf(part));
    keys.append(this.#keys.keys.views, rows);
    return keys;
  }

  /** Accumulators whose groups are the sessions, in their order. */
  #merged(sessions: readonly number[]): Accumulator[] {
    const map = this.#sessions.mapTo(sessions);
    const results = this.#grouping.createAccumulators();
    for (const [i, result] of results.entries()) {
      result.reserve(sessions.length);
      result.merge(this.#accumulators[i] as Accumulator, map, this.#sessions.partCount);
    }
    return results;
  }

  #setBounds(sessions: readonly number[], from: number, to: number): void {
    const [starts, ends] = this.#bounds;
    for (let i = from; i < to; i += 1) {
      const part = sessions[i] as number;
      const at = 2 * (i - from);
      const first = this.#sessions.first(part);
      starts.data[at] = first.low;
      starts.data[at + 1] = first.high;
      const last = this.#sessions.last(part);
      const low = last.low + this.#gapMs;
      const high = last.high + Math.floor(low / 4_294_967_296);
      ends.data[at] = low % 4_294_967_296;
      ends.data[at + 1] = high;
      if (high > (this.#signed ? 2_147_483_647 : 4_294_967_295)) {
        (ends.values as BigUint64Array)[i - from] = clampTime(2n ** 65n, this.#signed);
      }
    }
  }

  /** Lets go of sessions that have ended, and of keys without one. */
  #pack(): void {
    const live = this.#sessions.live();
    const keys = new KeyTable(this.#grouping.keyTypes);
    const numbers = new Int32Array(live.length);
    const rows = Int32Array.from(live, (part) => this.#sessions.keyOf(part));
    keys.add(this.#keys.keys.views, rows, numbers);
    this.#accumulators = this.#merged(live);
    this.#sessions = this.#sessions.packed(live, Array.from(numbers));
    this.#keys = keys;
  }

  snapshot(): StateSection[] {
    const encode = () => {
      this.#pack();
      const writer = new StateWriter(stateKind, stateVersion);
      writer.number(this.#changes).bigint(this.#watermark).rows(this.#keys.keys);
      this.#sessions.encode(writer);
      for (const each of this.#accumulators) each.encode(writer, this.#sessions.partCount);
      return writer.finish();
    };
    return [{ key: "sessions", generation: this.#changes, encode }];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      this.#changes = reader.number();
      this.#watermark = reader.bigint();
      this.#now = toTimePair(this.#watermark);
      const { keyTypes } = this.#grouping;
      this.#keys = new KeyTable(keyTypes, reader.rows(keyTypes));
      this.#sessions = SessionTable.decode(reader, this.#gapMs);
      for (const accumulator of this.#accumulators) {
        accumulator.decode(reader);
        accumulator.reserve(this.#sessions.partCount);
      }
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    const aggregates = this.#accumulators.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#context.memory.set(this.#keys.bytes + this.#sessions.bytes + aggregates);
  }
}
