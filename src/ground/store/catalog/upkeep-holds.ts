/**
 * Holds on files: while somebody has one that has not expired, upkeep deletes no file of the lake
 * and of no segment.
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

/** For so long from now on. Again: for longer. */
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

/** With those that expired: whoever had them is gone. */
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
