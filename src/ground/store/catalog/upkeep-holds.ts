/**
 * Holds on files: while an unexpired hold exists, upkeep deletes no file of the lake and no
 * segment.
 */
import { sql } from "kysely";
import type { Store, Tx } from "../core/store.ts";

export async function isHeld(store: Pick<Store, "read">): Promise<boolean> {
  return await store.read(async ({ db }: Tx) => {
    const held = await db
      .selectFrom("upkeep_holds")
      .select("holder")
      .where("expires_at_ms", ">", sql<number>`now_ms()`)
      .limit(1)
      .executeTakeFirst();
    return held !== undefined;
  });
}

/** Holds for `holdMs` from now on. Repeating it extends the hold. */
export async function keepHold(store: Store, holder: string, holdMs: number): Promise<void> {
  const until = { expires_at_ms: sql<number>`now_ms() + ${holdMs}` };
  await store.transaction(async ({ db }) => {
    await db
      .insertInto("upkeep_holds")
      .values({ holder, ...until })
      .onConflict((conflict) => conflict.column("holder").doUpdateSet(until))
      .execute();
  });
}

/** Drops the hold, and all expired ones. */
export async function dropHold(store: Store, holder: string): Promise<void> {
  await store.transaction(async ({ db }) => {
    await db
      .deleteFrom("upkeep_holds")
      .where((eb) =>
        eb.or([eb("holder", "=", holder), eb("expires_at_ms", "<=", sql<number>`now_ms()`)]),
      )
      .execute();
  });
}
