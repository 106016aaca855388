/** COUNT(*) and COUNT(x): the rows of a group, or those whose value is not NULL. */
import type { Column } from "../batch.ts";
import { loaded, loadRows } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";
import { addCounts, bytesOf, LaneAccumulator } from "./lanes.ts";

export class CountAccumulator extends LaneAccumulator {
  readonly #arg: number | undefined;
  /** Whole numbers, exact up to 2^53. */
  #counts = new Float64Array(0);
  protected readonly widths = [8];

  constructor(arg: number | undefined) {
    super();
    this.#arg = arg;
  }

  protected lanes(): Uint8Array[] {
    return [bytesOf(this.#counts)];
  }

  protected setLanes([counts]: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#counts = new Float64Array((counts as Uint8Array<ArrayBuffer>).buffer);
  }

  update(input: AggregateInput): void {
    const view = this.#arg === undefined ? undefined : input.views[this.#arg];
    if (view?.validity === undefined) addOnes(this.#counts, input.groups, input.count);
    else addOnes(this.#counts, loaded.groups, loadRows(view, input));
  }

  merge(from: Accumulator, map: Int32Array, count: number): void {
    addCounts(this.#counts, (from as CountAccumulator).#counts, map, count);
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    const data = out.data as Int32Array;
    for (let group = from, at = 0; group < to; group += 1, at += 2) {
      const count = this.#counts[group] as number;
      data[at] = count;
      data[at + 1] = count / 4_294_967_296;
    }
    return out.column(to - from);
  }
}

function addOnes(counts: Float64Array, groups: Int32Array, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const group = groups[i] as number;
    counts[group] = (counts[group] as number) + 1;
  }
}
