/** VAR and STDDEV of the sample and of the population, by Welford's method, merged by Chan's. */
import type { Column } from "../batch.ts";
import type { ColumnView } from "../tables/column-view.ts";
import { loadDoubles, loaded } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { bytesOf, LaneAccumulator } from "./lanes.ts";

export type VarianceFunction = "stddev_samp" | "stddev_pop" | "var_samp" | "var_pop";

export class VarianceAccumulator extends LaneAccumulator {
  readonly #arg: number;
  readonly #isRoot: boolean;
  readonly #isSample: boolean;
  /** For each group: how many values, their mean, the sum of squared differences from it. */
  #moments = new Float64Array(0);
  protected readonly widths = [24];

  constructor(arg: number, fn: VarianceFunction) {
    super();
    this.#arg = arg;
    this.#isRoot = fn.startsWith("stddev");
    this.#isSample = fn.endsWith("samp");
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#moments)];
  }

  protected setLanes([moments]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#moments = new Float64Array((moments as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const count = loadDoubles(input.views[this.#arg] as ColumnView, input);
    const { groups, doubles } = loaded;
    const moments = this.#moments;
    for (let i = 0; i < count; i += 1) {
      const at = (groups[i] as number) * 3;
      const value = doubles[i] as number;
      const rows = (moments[at] as number) + 1;
      const delta = value - (moments[at + 1] as number);
      const mean = (moments[at + 1] as number) + delta / rows;
      moments[at] = rows;
      moments[at + 1] = mean;
      moments[at + 2] = (moments[at + 2] as number) + delta * (value - mean);
    }
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    const others = (from as VarianceAccumulator).#moments;
    const moments = this.#moments;
    for (let i = 0; i < count; i += 1) {
      const at = (map[i] as number) * 3;
      const added = others[3 * i] as number;
      if (added === 0 || at < 0) continue;
      const rows = moments[at] as number;
      const total = rows + added;
      const delta = (others[3 * i + 1] as number) - (moments[at + 1] as number);
      moments[at] = total;
      moments[at + 1] = (moments[at + 1] as number) + (delta * added) / total;
      const spread = (moments[at + 2] as number) + (others[3 * i + 2] as number);
      moments[at + 2] = spread + (delta * delta * rows * added) / total;
    }
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    out.clear();
    for (let group = from; group < to; group += 1) {
      const divisor = (this.#moments[3 * group] as number) - (this.#isSample ? 1 : 0);
      if (divisor <= 0) {
        out.setNull(group - from);
        continue;
      }
      const variance = (this.#moments[3 * group + 2] as number) / divisor;
      out.data[group - from] = this.#isRoot ? Math.sqrt(variance) : variance;
    }
    return out.column(to - from);
  }
}
