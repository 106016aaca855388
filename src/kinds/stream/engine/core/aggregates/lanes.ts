/**
 * Accumulators that are a few typed arrays with a fixed number of elements for each group. All
 * zeros is the state of a group that has seen nothing.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";

const groupsMin = 16;

export abstract class LaneAccumulator implements Accumulator {
  #capacity = 0;

  abstract update(input: AggregateInput): void;
  abstract merge(from: Accumulator, map: Int32Array, count: number): void;
  abstract finish(from: number, to: number, out: OutputColumn): Column;
  /** How many bytes each lane has for a group. */
  protected abstract readonly widths: readonly number[];
  protected abstract lanes(): readonly Uint8Array[];
  /** Takes new lanes, given as their bytes. */
  protected abstract setLanes(lanes: readonly Uint8Array<ArrayBuffer>[]): void;

  reserve(groupCount: number): void {
    if (groupCount <= this.#capacity) return;
    const capacity = Math.max(groupsMin, groupCount, this.#capacity + (this.#capacity >> 1));
    const old = this.lanes();
    this.setLanes(
      this.widths.map((width, i) => {
        const grown = new Uint8Array(width * capacity);
        grown.set(old[i] ?? grown);
        return grown;
      }),
    );
    this.#capacity = capacity;
  }

  clear(groupCount: number): void {
    for (const [i, lane] of this.lanes().entries()) {
      lane.fill(0, 0, groupCount * (this.widths[i] as number));
    }
  }

  encode(writer: StateWriter, groupCount: number): void {
    writer.number(groupCount);
    for (const [i, lane] of this.lanes().entries()) {
      writer.array(lane.subarray(0, groupCount * (this.widths[i] as number)));
    }
  }

  decode(reader: StateReader): void {
    const groupCount = reader.number();
    const lanes = this.widths.map(() => reader.array());
    for (const [i, lane] of lanes.entries()) {
      assert(lane.length === groupCount * (this.widths[i] as number), "a lane has all its groups");
    }
    this.setLanes(lanes);
    this.#capacity = groupCount;
  }

  get bytes(): number {
    return this.#capacity * this.widths.reduce((sum, width) => sum + width, 0);
  }
}

export function bytesOf(array: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/**
 * Adds counts to the groups that `map` names; a negative one is left out. Loops over lanes are
 * functions of their own, without a destructured array in them: `merge` of sums made 70 MB of
 * garbage a million rows otherwise.
 */
export function addCounts(
  counts: Float64Array,
  others: Float64Array,
  map: Int32Array,
  count: number,
): void {
  for (let i = 0; i < count; i += 1) {
    const group = map[i] as number;
    if (group < 0) continue;
    counts[group] = (counts[group] as number) + (others[i] as number);
  }
}
