/** A complete checkpoint, as the fleet records it. */
import type { Store } from "../../../../ground/store/index.ts";
import { type Manifest, type ManifestFragment, manifestVersion } from "../../run/core/index.ts";

export async function recordRow(
  store: Store,
  query_id: string,
  checkpoint: number,
  savepoint: number | null = null,
  fragments: readonly ManifestFragment[] = [],
): Promise<void> {
  const manifest: Manifest = {
    ...{ version: manifestVersion, planHash: "", parallelism: 1, keyGroups: 256 },
    ...{ checkpoint, epoch: 1, fragments },
  };
  await store.catalogTransaction(async (tx) => {
    const about = { query_id, checkpoint, savepoint, epoch: 1, size_bytes: 10, duration_ms: 5 };
    const row = { ...about, manifest: JSON.stringify(manifest), completed_at_ms: 1 };
    await tx.db.insertInto("query_checkpoints").values(row).execute();
    if (savepoint !== null) await tx.update("queries", query_id, { savepoints_taken: savepoint });
  });
}
