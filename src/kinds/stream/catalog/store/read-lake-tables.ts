/** The tables of the lake as plans see them, in the transaction of the other definitions. */
import { readTables, type TableId, visibleColumns } from "../../../../data/lake/index.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import type { FilledTable } from "../../language/core/index.ts";
import { lakeTableOf } from "../../run/core/index.ts";
import type { CatalogSnapshot } from "../core/planner.ts";

type Tables = NonNullable<CatalogSnapshot["tables"]>;

/** `readFilled`: the tables that other kinds of work fill, and nobody else may write to. */
export function createReadLakeTables(
  readFilled: (tx: Tx) => Promise<ReadonlyMap<TableId, FilledTable>>,
): (tx: Tx) => Promise<Tables> {
  return async (tx) => {
    const filled = await readFilled(tx);
    return (await readTables(tx, undefined)).map((table) => ({
      ...lakeTableOf({ ...table, columns: visibleColumns(table) }, filled.get(table.tableId)),
      tableId: Number(table.tableId),
    }));
  };
}
