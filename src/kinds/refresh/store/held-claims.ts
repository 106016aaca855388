/** Finds the holder of a refresh. */
import { sql } from "kysely";
import type { Tx } from "../../../ground/store/index.ts";
import type { ClaimKey } from "../core/index.ts";
import type { HeldClaim } from "./end-refresh.ts";

/** The claim, if worker and token hold it and its lease is not over (TC7, TC8). */
export async function holdClaim(
  tx: Tx,
  { tableId, workerId, token }: ClaimKey,
): Promise<HeldClaim | undefined> {
  return await heldClaims(tx)
    .where("p.table_id", "=", tableId)
    .where("c.worker_id", "=", workerId)
    .where("c.token", "=", token)
    .where("c.expires_at_ms", ">", sql<number>`now_ms()`)
    .executeTakeFirst();
}

export function heldClaims({ db }: Tx) {
  return db
    .selectFrom("refresh_claims as c")
    .innerJoin("pending_refreshes as p", "p.dynamic_table", "c.dynamic_table")
    .select([
      "c.dynamic_table",
      "p.table_id",
      "c.worker_id",
      "c.token",
      "c.attempt",
      "c.claimed_at_ms",
    ]);
}
