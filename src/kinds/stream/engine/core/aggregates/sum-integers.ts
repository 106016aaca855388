/**
 * SUM and AVG of integers. Sums are kept in 96 bits, as three words: SUM gives the lower 64 of
 * them, which is wrapping around; AVG divides the whole sum, so it is right where SUM wraps.
 */

import { isSigned } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { loaded, loadWords } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { addCounts, bytesOf, LaneAccumulator } from "./lanes.ts";

const wordRange = 4_294_967_296;

export class IntegerSumAccumulator extends LaneAccumulator {
  readonly #arg: number;
  readonly #gives: "sum" | "avg";
  #sums = new Int32Array(0);
  #counts = new Float64Array(0);
  protected readonly widths = [12, 8];

  constructor(arg: number, gives: "sum" | "avg") {
    super();
    this.#arg = arg;
    this.#gives = gives;
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#sums), bytesOf(this.#counts)];
  }

  protected setLanes([sums, counts]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#sums = new Int32Array((sums as Uint8Array<ArrayBuffer>).buffer);
    this.#counts = new Float64Array((counts as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const view = input.views[this.#arg] as ColumnView;
    const count = loadWords(view, input);
    const { groups, words } = loaded;
    add(this.#sums, this.#counts, groups, words, count, isSigned(view.type) ? 31 : 0);
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const other = from as IntegerSumAccumulator;
    addSums(this.#sums, other.#sums, map, count);
    addCounts(this.#counts, other.#counts, map, count);
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    const { data } = out;
    for (let group = from; group < to; group += 1) {
      const count = this.#counts[group] as number;
      const at = group * 3;
      if (count === 0) out.setNull(group - from);
      if (this.#gives === "sum") {
        data[(group - from) * 2] = this.#sums[at] as number;
        data[(group - from) * 2 + 1] = this.#sums[at + 1] as number;
      } else {
        data[group - from] = this.#sumOf(at) / (count === 0 ? 1 : count);
      }
    }
    return out.column(to - from);
  }

  /** The nearest double; a negative sum is negated first, so that nothing cancels out. */
  #sumOf(at: number): number {
    const [low, high, top] = [this.#sums[at], this.#sums[at + 1], this.#sums[at + 2]];
    if (top === 0) return ((high as number) >>> 0) * wordRange + ((low as number) >>> 0);
    const whole =
      (BigInt(top as number) << 64n) |
      (BigInt((high as number) >>> 0) << 32n) |
      BigInt((low as number) >>> 0);
    return Number(whole);
  }
}

function add(
  sums: Int32Array,
  counts: Float64Array,
  groups: Int32Array,
  words: Int32Array,
  count: number,
  signShift: number,
): void {
  for (let i = 0; i < count; i += 1) {
    const group = groups[i] as number;
    const at = group * 3;
    const word = words[2 * i + 1] as number;
    const low = ((sums[at] as number) >>> 0) + ((words[2 * i] as number) >>> 0);
    const high = ((sums[at + 1] as number) >>> 0) + (word >>> 0) + (low >= wordRange ? 1 : 0);
    sums[at] = low;
    sums[at + 1] = high;
    // The sign of the value reaches into the third word.
    const top = signShift === 0 ? 0 : word >> signShift;
    sums[at + 2] = (sums[at + 2] as number) + top + (high >= wordRange ? 1 : 0);
    counts[group] = (counts[group] as number) + 1;
  }
}

/** Adds 96-bit sums to the groups that `map` names; a negative one is left out. */
function addSums(sums: Int32Array, others: Int32Array, map: Int32Array, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const group = map[i] as number;
    if (group < 0) continue;
    const at = group * 3;
    const from = i * 3;
    const low = ((sums[at] as number) >>> 0) + ((others[from] as number) >>> 0);
    const high =
      ((sums[at + 1] as number) >>> 0) +
      ((others[from + 1] as number) >>> 0) +
      (low >= wordRange ? 1 : 0);
    sums[at] = low;
    sums[at + 1] = high;
    sums[at + 2] =
      (sums[at + 2] as number) + (others[from + 2] as number) + (high >= wordRange ? 1 : 0);
  }
}
