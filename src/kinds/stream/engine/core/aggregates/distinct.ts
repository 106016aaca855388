/**
 * Aggregates over the different values of a group: a table of pairs of group and value, and the
 * plain aggregate over it, made when a window fires.
 */
import { type DataType, notNull } from "../../../language/core/index.ts";
import type { Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import { allRows, type ColumnView } from "../tables/column-view.ts";
import { KeyTable } from "../tables/key-table.ts";
import { loaded, loadRows } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";
import type { Accumulator, AggregateInput } from "./accumulator.ts";

const noOffsets = new Int32Array(0);

export class DistinctAccumulator implements Accumulator {
  readonly #arg: number;
  readonly #types: readonly DataType[];
  /** Makes the plain aggregate over column 1 of the table. */
  readonly #createPlain: (arg: number) => Accumulator;
  #pairs: KeyTable;
  #groupCount = 0;
  #result: Accumulator | undefined;

  constructor(arg: number, type: DataType, createPlain: (arg: number) => Accumulator) {
    this.#arg = arg;
    this.#types = [notNull("INT32"), notNull(type.name)];
    this.#createPlain = createPlain;
    this.#pairs = new KeyTable(this.#types);
  }

  reserve(groupCount: number): void {
    this.#groupCount = Math.max(this.#groupCount, groupCount);
  }

  update(input: AggregateInput): void {
    const view = input.views[this.#arg] as ColumnView;
    const count = loadRows(view, input);
    const rows = loaded.rows.subarray(0, count);
    const groupOf = new Int32Array(input.rowCount);
    for (let i = 0; i < count; i += 1) groupOf[rows[i] as number] = loaded.groups[i] as number;
    this.#add(groupOf, { ...view, validity: undefined }, rows);
  }

  merge(from: Accumulator, map: Int32Array): void {
    const { keys } = (from as DistinctAccumulator).#pairs;
    const [groups, values] = keys.views as [ColumnView, ColumnView];
    const groupOf = new Int32Array(keys.rowCount);
    const rows = new Int32Array(keys.rowCount);
    let kept = 0;
    for (let row = 0; row < keys.rowCount; row += 1) {
      const group = map[groups.data[row] as number] as number;
      if (group < 0) continue;
      groupOf[row] = group;
      rows[kept] = row;
      kept += 1;
    }
    this.#add(groupOf, values, rows.subarray(0, kept));
  }

  #add(groupOf: Int32Array, values: ColumnView, rows: Int32Array): void {
    this.#result = undefined;
    const groups: ColumnView = {
      type: "INT32",
      data: groupOf,
      offsets: noOffsets,
      validity: undefined,
    };
    this.#pairs.add([groups, values], rows, new Int32Array(rows.length));
  }

  finish(from: number, to: number, out: OutputColumn): Column {
    this.#result ??= this.#aggregate();
    return this.#result.finish(from, to, out);
  }

  #aggregate(): Accumulator {
    const { keys } = this.#pairs;
    const plain = this.#createPlain(1);
    plain.reserve(this.#groupCount);
    const [groups] = keys.views as [ColumnView];
    const count = keys.rowCount;
    const rows = allRows(count);
    plain.update({
      views: keys.views,
      rows,
      groups: groups.data as Int32Array,
      count,
      rowCount: count,
    });
    return plain;
  }

  encode(writer: StateWriter, groupCount: number): void {
    writer.number(groupCount).rows(this.#pairs.keys);
  }

  decode(reader: StateReader): void {
    this.#groupCount = reader.number();
    this.#pairs = new KeyTable(this.#types, reader.rows(this.#types));
  }

  get bytes(): number {
    return this.#pairs.bytes;
  }
}
