/** A complete checkpoint, as the fleet records it. */
import type { Store } from "../../../../ground/store/index.ts";

export async function recordRow(
  store: Store,
  query_id: string,
  checkpoint: number,
  savepoint: number | null = null,
): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const about = { query_id, checkpoint, savepoint, epoch: 1, size_bytes: 10, duration_ms: 5 };
    const row = { ...about, manifest: '{"fragments":[]}', completed_at_ms: 1 };
    await tx.db.insertInto("query_checkpoints").values(row).execute();
    if (savepoint !== null) await tx.update("queries", query_id, { savepoints_taken: savepoint });
  });
}
