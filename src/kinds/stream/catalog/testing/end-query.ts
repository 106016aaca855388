/** A query that its reconciler has stopped and removed. */
import assert from "node:assert/strict";
import type { Store } from "../../../../ground/store/index.ts";
import { hasEnded } from "../core/states.ts";
import { moveFragment, moveQuery, removeQuery } from "../store/move-rows.ts";
import { findQuery } from "../store/read-rows.ts";

/** `name` is the query's name or its id. */
export async function endQuery({ store }: { readonly store: Store }, name: string): Promise<void> {
  await store.catalogTransaction(async (tx) => {
    const row = await findQuery(tx, name);
    assert(row !== undefined);
    const fragments = await tx.db
      .selectFrom("query_fragments")
      .selectAll()
      .where("query_id", "=", row.query_id)
      .execute();
    for (const fragment of fragments) {
      if (!hasEnded(fragment.state)) await moveFragment(tx, fragment, "STOPPED");
    }
    const stopping = await moveQuery(tx, row, "STOPPING", {});
    await removeQuery(tx, await moveQuery(tx, stopping, "STOPPED", {}));
  });
}
