/** What others are told of the tables that refreshes fill. */
import type { TableId } from "../../../data/lake/core/index.ts";
import type { Tx } from "../../../ground/store/index.ts";
import { readDynamicTables } from "./definitions.ts";

export interface FilledTable {
  readonly what: string;
  readonly hint: string;
}

/** Nobody but a refresh writes to them. */
export async function readFilledTables(tx: Tx): Promise<ReadonlyMap<TableId, FilledTable>> {
  const all = await readDynamicTables(tx);
  const filled: FilledTable = {
    what: "a dynamic table",
    hint: "Only its refreshes write to it. Write to another table, which dynamic tables may read.",
  };
  return new Map(all.map(({ tableId }) => [tableId, filled]));
}
