/**
 * MIN and MAX of fixed types: 64-bit integers as pairs of words, all others as doubles. NaN counts
 * as greater than every other value, so that the order of the rows does not matter.
 */
import { isSigned, type TypeName } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import { type ColumnView, is64Bit } from "../tables/column-view.ts";
import { loadDoubles, loaded, loadWords } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { bytesOf, LaneAccumulator } from "./lanes.ts";

export function createExtreme(arg: number, type: TypeName, fn: "min" | "max"): Accumulator {
  return is64Bit(type)
    ? new WordExtremeAccumulator(arg, fn, isSigned(type))
    : new DoubleExtremeAccumulator(arg, fn);
}

class DoubleExtremeAccumulator extends LaneAccumulator {
  readonly #arg: number;
  readonly #sign: 1 | -1;
  /** For each group: 1 once there is a value, and the value; MAX keeps the negated value. */
  #values = new Float64Array(0);
  protected readonly widths = [16];

  constructor(arg: number, fn: "min" | "max") {
    super();
    this.#arg = arg;
    this.#sign = fn === "min" ? 1 : -1;
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#values)];
  }

  protected setLanes([values]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#values = new Float64Array((values as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const count = loadDoubles(input.views[this.#arg] as ColumnView, input);
    const { groups, doubles } = loaded;
    const values = this.#values;
    const sign = this.#sign;
    for (let i = 0; i < count; i += 1) {
      const at = (groups[i] as number) * 2;
      this.#keep(values, at, (doubles[i] as number) * sign);
    }
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const others = (from as DoubleExtremeAccumulator).#values;
    for (let i = 0; i < count; i += 1) {
      if (others[2 * i] === 0 || (map[i] as number) < 0) continue;
      this.#keep(this.#values, (map[i] as number) * 2, others[2 * i + 1] as number);
    }
  }

  #keep(values: Float64Array, at: number, value: number): void {
    const old = values[at + 1] as number;
    if (values[at] !== 0 && !(value < old)) {
      // NaN is the greatest: MIN lets go of it for anything, MAX of anything for it.
      const loser = this.#sign === 1 ? old : value;
      const winner = this.#sign === 1 ? value : old;
      if (!Number.isNaN(loser) || Number.isNaN(winner)) return;
    }
    values[at] = 1;
    values[at + 1] = value;
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    for (let group = from; group < to; group += 1) {
      if (this.#values[2 * group] === 0) out.setNull(group - from);
      out.data[group - from] = (this.#values[2 * group + 1] as number) * this.#sign;
    }
    return out.column(to - from);
  }
}

class WordExtremeAccumulator extends LaneAccumulator {
  readonly #arg: number;
  readonly #isMin: boolean;
  /** Added to a high word, it makes unsigned words compare like signed ones. */
  readonly #bias: number;
  /** For each group: 1 once there is a value, the low word, the high word. */
  #values = new Int32Array(0);
  protected readonly widths = [12];

  constructor(arg: number, fn: "min" | "max", signed: boolean) {
    super();
    this.#arg = arg;
    this.#isMin = fn === "min";
    this.#bias = signed ? 0 : -2_147_483_648;
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#values)];
  }

  protected setLanes([values]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#values = new Int32Array((values as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const count = loadWords(input.views[this.#arg] as ColumnView, input);
    const { groups, words } = loaded;
    for (let i = 0; i < count; i += 1) {
      this.#keep((groups[i] as number) * 3, words[2 * i] as number, words[2 * i + 1] as number);
    }
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const others = (from as WordExtremeAccumulator).#values;
    for (let i = 0; i < count; i += 1) {
      if (others[3 * i] === 0 || (map[i] as number) < 0) continue;
      const at = (map[i] as number) * 3;
      this.#keep(at, others[3 * i + 1] as number, others[3 * i + 2] as number);
    }
  }

  #keep(at: number, low: number, high: number): void {
    const values = this.#values;
    if (values[at] !== 0) {
      const bias = this.#bias;
      const oldHigh = (values[at + 2] as number) ^ bias;
      const newHigh = high ^ bias;
      const less =
        newHigh === oldHigh ? low >>> 0 < (values[at + 1] as number) >>> 0 : newHigh < oldHigh;
      if (less !== this.#isMin) return;
    }
    values[at] = 1;
    values[at + 1] = low;
    values[at + 2] = high;
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    for (let group = from; group < to; group += 1) {
      const at = (group - from) * 2;
      if (this.#values[3 * group] === 0) out.setNull(group - from);
      out.data[at] = this.#values[3 * group + 1] as number;
      out.data[at + 1] = this.#values[3 * group + 2] as number;
    }
    return out.column(to - from);
  }
}
