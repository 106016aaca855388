/**
 * Aggregates over tumbling and sliding windows, by key. Every slice has its own table of groups;
 * a window is its slices put together when the watermark reaches its end. Rules: SX40 to SX47.
 */
import type { Schema, WindowAggregateOp } from "../../../language/core/index.ts";
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
import { type FiredWindow, Timeline } from "./timeline.ts";
import { TwoStacks } from "./two-stacks.ts";
import { WindowColumns } from "./window-columns.ts";
import type { SlicedWindow } from "./window-shape.ts";

const stateKind = "windowAggregate";
const stateVersion = 1;

class Slice {
  readonly #grouping: Grouping;
  readonly index: bigint;
  readonly groups: GroupState;
  extra: GroupState | undefined;
  generation = 0;
  /** What it was counted with in the operator's memory. */
  counted = 0;

  constructor(index: bigint, grouping: Grouping) {
    this.index = index;
    this.#grouping = grouping;
    this.groups = grouping.take();
  }

  settle(): void {
    if (this.extra === undefined) return;
    this.groups.absorb(this.extra);
    this.#grouping.give(this.extra);
    this.extra = undefined;
    this.generation += 1;
  }

  get bytes(): number {
    return this.groups.bytes + (this.extra?.bytes ?? 0);
  }
}

export class SlicedAggregate implements Operator {
  readonly #context: OperatorContext;
  readonly #grouping: Grouping;
  readonly #columns: WindowColumns;
  readonly #timeline: Timeline<Slice>;
  readonly #assigner: SliceAssigner<Slice>;
  readonly #stacks: TwoStacks | undefined;
  #watermark = startOfTime;
  #bytes = 0;
  #marks = 0;

  constructor(
    op: WindowAggregateOp,
    window: SlicedWindow,
    input: Schema,
    output: Schema,
    context: OperatorContext,
  ) {
    this.#context = context;
    this.#grouping = new Grouping(op, input, output);
    this.#columns = new WindowColumns(output);
    const holder = { slice: (index: bigint) => this.#timeline.slice(index) };
    this.#assigner = new SliceAssigner(window, op.time, holder, context.late);
    const { shape } = this.#assigner;
    this.#timeline = new Timeline(shape, (index) => new Slice(index, this.#grouping));
    const isShared = shape.perWindow > 1n && !this.#grouping.needsAllValues;
    this.#stacks = isShared ? new TwoStacks(this.#grouping) : undefined;
  }

  push(_input: number, batch: Batch): void {
    const views = this.#grouping.views(batch);
    for (const { slice, rows } of this.#assigner.assign(batch)) {
      slice.generation += 1;
      if (this.#stacks?.has(slice.index) === true) {
        slice.extra ??= this.#grouping.take();
        slice.extra.add(views, rows, batch.rowCount);
      } else slice.groups.add(views, rows, batch.rowCount);
      this.#count(slice);
    }
    this.#tellMemory();
  }

  advance(watermark: bigint): void {
    this.#watermark = watermark;
    this.#assigner.watermark = watermark;
    this.#marks += 1;
    this.#timeline.advance(
      watermark,
      (window) => this.#fire(window),
      ({ counted, groups, extra }) => {
        this.#bytes -= counted;
        this.#grouping.groupCountExpected = groups.groupCount;
        this.#grouping.give(groups);
        if (extra !== undefined) this.#grouping.give(extra);
      },
    );
    if (watermark === endOfTime) this.#grouping.dropSpares();
    this.#tellMemory();
  }

  outputWatermark(watermark: bigint): bigint {
    return this.#assigner.shape.watermarkBehind(watermark);
  }

  /** Nothing may come for long: only what windows need is kept. */
  idle(isIdle: boolean): void {
    if (isIdle) this.#grouping.dropSpares();
    this.#tellMemory();
  }

  #fire({ index, start, end, slices }: FiredWindow<Slice>): void {
    this.#columns.set(start, end);
    const groups = this.#groupsOf(index, slices);
    groups.emit((columns, rowCount) => {
      this.#context.emit({
        rowCount,
        columns: [...this.#columns.columns(rowCount), ...columns],
        selection: undefined,
      });
    });
    const isPassing = this.#stacks === undefined && slices.length > 1;
    if (isPassing) this.#grouping.give(groups);
  }

  #groupsOf(window: bigint, slices: readonly Slice[]): GroupState {
    const [only] = slices;
    if (this.#stacks !== undefined) {
      const first = window * this.#assigner.shape.perAdvance;
      return this.#stacks.window(first, slices);
    }
    if (slices.length === 1 && only !== undefined) return only.groups;
    const whole = this.#grouping.take();
    for (const { groups } of slices) whole.absorb(groups);
    return whole;
  }

  snapshot(): StateSection[] {
    const meta = metaSection(stateKind, stateVersion, this.#marks, this.#watermark);
    const slices = this.#timeline.slices().map((slice) => {
      return {
        key: `slice ${slice.index}`,
        generation: slice.generation,
        encode: () => encodeSlice(slice),
      };
    });
    return [meta, ...slices];
  }

  restore(sections: readonly SavedSection[]): void {
    for (const { key, bytes } of sections) {
      const reader = new StateReader(bytes, stateKind, stateVersion);
      if (key === "meta") {
        this.#marks = reader.number();
        this.#watermark = reader.bigint();
        this.#assigner.watermark = this.#watermark;
        if (this.#watermark > startOfTime) this.#timeline.resume(this.#watermark);
        continue;
      }
      const slice = this.#timeline.slice(reader.bigint());
      slice.generation = reader.number();
      slice.groups.decode(reader);
      if (reader.number() === 1) {
        slice.extra = this.#grouping.take();
        slice.extra.decode(reader);
        slice.settle();
      }
      this.#count(slice);
    }
    this.#tellMemory();
  }

  #count(slice: Slice): void {
    this.#bytes += slice.bytes - slice.counted;
    slice.counted = slice.bytes;
  }

  #tellMemory(): void {
    const { spareBytes } = this.#grouping;
    this.#context.memory.set(this.#bytes + spareBytes + (this.#stacks?.bytes ?? 0));
  }
}

function encodeSlice({ index, generation, groups, extra }: Slice): Uint8Array {
  const writer = new StateWriter(stateKind, stateVersion);
  writer.bigint(index).number(generation);
  groups.encode(writer);
  writer.number(extra === undefined ? 0 : 1);
  extra?.encode(writer);
  return writer.finish();
}
