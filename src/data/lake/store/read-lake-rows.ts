/** Reads every row of the catalog in one transaction, for `checkLake`. */

import type { Tx } from "../../../ground/store/index.ts";
import type { LakeRows } from "../core/rows.ts";
import { lakeTableColumns } from "../core/tables.ts";

export async function readLakeRows({ db }: Tx): Promise<LakeRows> {
  const rows: Record<string, unknown> = {};
  for (const name of Object.keys(lakeTableColumns)) {
    if (!name.startsWith("ducklake_")) continue;
    rows[name] = await db
      .selectFrom(name as keyof LakeRows)
      .selectAll()
      .execute();
  }
  return rows as LakeRows;
}
