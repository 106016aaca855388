/**
 * The half of an aggregation that stands in front of an exchange: it keeps the rows of its sender
 * as groups by slice and key, and emits them before its watermark reaches the end of the first
 * window that they belong to, so that the receiver never needs what was not sent. Rules: SX58 and
 * SX59.
 *
 * A row that is late for the watermark here is late; what was taken is in time for the receiver,
 * whose watermark is never ahead of those that its senders have sent.
 */
import type { PartialAggregateOp, Schema } from "../../../language/core/index.ts";
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
import { SliceAssigner } from "./assign-slices.ts";
import { Grouping, type GroupState } from "./group-state.ts";
import { metaSection } from "./meta-section.ts";
import { WindowColumns } from "./window-columns.ts";

const stateKind = "partialAggregate";
const stateVersion = 1;

/** More groups than this are sent at once: what is kept here is only to send less. */
const groupsMax = 131_072;

interface PartialSlice {
  readonly index: bigint;
  readonly groups: GroupState;
  generation: number;
}

export class PartialAggregate implements Operator {
  readonly #context: OperatorContext;
  readonly #grouping: Grouping;
  readonly #columns: WindowColumns;
  readonly #assigner: SliceAssigner<PartialSlice>;
  readonly #slices = new Map<bigint, PartialSlice>();
  #watermark = startOfTime;
  /** Grows with every change, so that no generation comes twice, also after a restart. */
  #changes = 0;

  constructor(op: PartialAggregateOp, input: Schema, output: Schema, context: OperatorContext) {
    this.#context = context;
    this.#grouping = new Grouping(op, input, output);
    this.#columns = new WindowColumns(output);
    const holder = { slice: (index: bigint) => this.#slice(index) };
    this.#assigner = new SliceAssigner(op.window, op.time, holder, context.late);
  }

  push(_input: number, batch: Batch): void {
    const views = this.#grouping.views(batch);
    for (const { slice, rows } of this.#assigner.assign(batch)) {
      this.#changes += 1;
      slice.generation = this.#changes;
      slice.groups.add(views, rows, batch.rowCount);
    }
    let count = 0;
    for (const { groups } of this.#slices.values()) count += groups.groupCount;
    if (count > groupsMax) this.#sendAll();
    this.#tellMemory();
  }

  advance(watermark: bigint): void {
    const { shape } = this.#assigner;
    this.#send(
      ({ index }) =>
        watermark === endOfTime || shape.windowEnd(shape.firstWindow(index)) <= watermark,
    );
    this.#changes += 1;
    this.#watermark = watermark;
    this.#assigner.watermark = watermark;
    if (watermark === endOfTime) this.#grouping.dropSpares();
    this.#tellMemory();
  }

  outputWatermark(watermark: bigint): bigint {
    return this.#assigner.shape.watermarkBefore(watermark);
  }

  /** While this input is idle, the others alone decide how far the receiver's time goes. */
  idle(isIdle: boolean): void {
    if (isIdle) this.#sendAll();
    this.#tellMemory();
  }

  #slice(index: bigint): PartialSlice {
    let slice = this.#slices.get(index);
    if (slice === undefined) {
      slice = { index, groups: this.#grouping.take(), generation: 0 };
      this.#slices.set(index, slice);
    }
    return slice;
  }

  #sendAll(): void {
    this.#send(() => true);
    this.#grouping.dropSpares();
  }

  #send(isDue: (slice: PartialSlice) => boolean): void {
    const { shape } = this.#assigner;
    for (const slice of [...this.#slices.values()]) {
      if (!isDue(slice)) continue;
      const { index, groups } = slice;
      this.#slices.delete(index);
      this.#grouping.groupCountExpected = groups.groupCount;
      this.#columns.set(shape.sliceStart(index), shape.sliceEnd(index));
      groups.emit((columns, rowCount) => {
        this.#context.emit({
          rowCount,
          columns: [...this.#columns.columns(rowCount), ...columns],
          selection: undefined,
        });
      });
      this.#grouping.give(groups);
    }
  }

  snapshot(): StateSection[] {
    const meta = metaSection(stateKind, stateVersion, this.#changes, this.#watermark);
    const slices = [...this.#slices.values()].map(({ index, groups, generation }) => ({
      key: `slice ${index}`,
      generation,
      encode: () => {
        const writer = new StateWriter(stateKind, stateVersion);
        writer.bigint(index).number(generation);
        groups.encode(writer);
        return writer.finish();
      },
    }));
    return [meta, ...slices];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { key, bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      if (key === "meta") {
        this.#changes = reader.number();
        this.#watermark = reader.bigint();
        this.#assigner.watermark = this.#watermark;
        continue;
      }
      const slice = this.#slice(reader.bigint());
      slice.generation = reader.number();
      slice.groups.decode(reader);
    }
    this.#tellMemory();
  }

  #tellMemory(): void {
    let bytes = this.#grouping.spareBytes;
    for (const { groups } of this.#slices.values()) bytes += groups.bytes;
    this.#context.memory.set(bytes);
  }
}
