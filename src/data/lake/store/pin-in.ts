/** The snapshot that a cursor goes on from does not expire, nor what is needed after it. */
import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import type { SnapshotId, TableId } from "../core/model.ts";
import { requireSnapshot } from "./read-tables.ts";

/** A cursor pins one snapshot: the newest that it was told. */
export async function pinIn(
  tx: Tx,
  cursor: string,
  tableId: TableId,
  snapshot: SnapshotId,
): Promise<void> {
  await requireSnapshot(tx, snapshot);
  const pinned = {
    table_id: tableId,
    snapshot_id: snapshot,
    pinned_at_ms: sql<number>`now_ms()`,
  };
  await tx.db
    .insertInto("lake_pins")
    .values({ cursor_name: cursor, ...pinned })
    .onConflict((conflict) => conflict.column("cursor_name").doUpdateSet(pinned))
    .execute();
}
