/**
 * SUM and AVG of floats. A sum is two doubles, the rounded sum and what rounding lost, so that it
 * does not depend on the order of the rows, but for the last digit in rare cases.
 */
import type { Column } from "../batch.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { loadDoubles, loaded } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { bytesOf, LaneAccumulator } from "./lanes.ts";

export class FloatSumAccumulator extends LaneAccumulator {
  readonly #arg: number;
  readonly #gives: "sum" | "avg";
  /** For each group: the sum, what rounding lost, how many values. */
  #sums = new Float64Array(0);
  protected readonly widths = [24];

  constructor(arg: number, gives: "sum" | "avg") {
    super();
    this.#arg = arg;
    this.#gives = gives;
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#sums)];
  }

  protected setLanes([sums]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#sums = new Float64Array((sums as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const count = loadDoubles(input.views[this.#arg] as ColumnView, input);
    const { groups, doubles } = loaded;
    const sums = this.#sums;
    for (let i = 0; i < count; i += 1) {
      addTo(sums, (groups[i] as number) * 3, doubles[i] as number, 0, 1);
    }
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const sums = this.#sums;
    const others = (from as FloatSumAccumulator).#sums;
    for (let i = 0; i < count; i += 1) {
      const group = map[i] as number;
      const rows = others[3 * i + 2] as number;
      if (rows === 0 || group < 0) continue;
      addTo(sums, group * 3, others[3 * i] as number, others[3 * i + 1] as number, rows);
    }
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    for (let group = from; group < to; group += 1) {
      const sum = this.#sums[3 * group] as number;
      const lost = this.#sums[3 * group + 1] as number;
      const count = this.#sums[3 * group + 2] as number;
      if (count === 0) out.setNull(group - from);
      const whole = Number.isFinite(sum) ? sum + lost : sum;
      out.data[group - from] = this.#gives === "sum" ? whole : whole / (count === 0 ? 1 : count);
    }
    return out.column(to - from);
  }
}

function addTo(sums: Float64Array, at: number, value: number, lost: number, rows: number): void {
  const old = sums[at] as number;
  const sum = old + value;
  // Knuth's exact difference between the sum and its rounding.
  const part = sum - old;
  sums[at] = sum;
  sums[at + 1] = (sums[at + 1] as number) + lost + (old - (sum - part)) + (value - part);
  sums[at + 2] = (sums[at + 2] as number) + rows;
}
