/** What an aggregate keeps for every group of a slice. Groups are dense numbers from 0. */
import type { Column } from "../batch.ts";
import type { StateReader, StateWriter } from "../tables/codec.ts";
import type { ColumnView } from "../tables/column-view.ts";
import type { GroupedRows } from "../tables/load-values.ts";
import type { OutputColumn } from "../tables/output-column.ts";

export interface AggregateInput extends GroupedRows {
  /** The columns of the batch; only those that an aggregate reads are there. */
  readonly views: readonly (ColumnView | undefined)[];
  /** The rows of the batch, selected or not. */
  readonly rowCount: number;
}

export interface Accumulator {
  /** Makes room; groups that are new have seen nothing. */
  reserve(groupCount: number): void;
  /** Takes rows in the order of their arrival. */
  update(input: AggregateInput): void;
  /** Takes what another of the same call has: its group `i` is here `map[i]`, or none with -1. */
  merge(from: Accumulator, map: Int32Array, count: number): void;
  /** The results of the groups from `from` to `to`, at most a batch; valid until the next call. */
  finish(from: number, to: number, out: OutputColumn): Column;
  encode(writer: StateWriter, groupCount: number): void;
  decode(reader: StateReader): void;
  /** Forgets all groups and keeps the room for them; absent where a new one is made instead. */
  clear?(groupCount: number): void;
  readonly bytes: number;
}
