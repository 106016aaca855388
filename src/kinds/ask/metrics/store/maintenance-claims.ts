/**
 * Claims on upkeep tasks. A claim is granted for a time and with a fence; a holder that was paused
 * beyond that finds out when it publishes. The WHERE clause of each statement is its concurrency
 * argument. Time is `now_ms()`, the database's.
 */
import { sql } from "kysely";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Store, Tx } from "../../../../ground/store/index.ts";

export interface MaintenanceClaim {
  readonly task: string;
  readonly holder: string;
  /** Grows with every grant of the task. */
  readonly fence: number;
}

export interface ClaimRequest {
  readonly task: string;
  readonly holder: string;
  readonly claimMs: number;
}

/** Grants only if the claim is free or expired. The fence exceeds every earlier one. */
export async function acquireClaim(
  store: Store,
  { task, holder, claimMs }: ClaimRequest,
): Promise<MaintenanceClaim | undefined> {
  const granted = await store.transaction(
    async ({ db }) =>
      await sql<{ fence: number }>`
        INSERT INTO maintenance_claims (task, holder, fence, expires_at_ms)
        VALUES (${task}, ${holder}, 1, now_ms() + ${claimMs})
            ON CONFLICT (task) DO UPDATE
           SET holder = excluded.holder,
               fence = maintenance_claims.fence + 1,
               expires_at_ms = excluded.expires_at_ms
         WHERE maintenance_claims.expires_at_ms <= now_ms()
        RETURNING fence`.execute(db),
  );
  const fence = granted.rows[0]?.fence;
  return fence === undefined ? undefined : { task, holder, fence };
}

/** Extends only if no newer claim was granted. */
export async function renewClaim(
  store: Store,
  { task, holder, fence }: MaintenanceClaim,
  claimMs: number,
): Promise<boolean> {
  const renewed = await store.transaction(
    async ({ db }) =>
      await sql`
           UPDATE maintenance_claims
              SET expires_at_ms = now_ms() + ${claimMs}
            WHERE task = ${task} AND holder = ${holder} AND fence = ${fence}
        RETURNING fence`.execute(db),
  );
  return renewed.rows.length === 1;
}

/** Frees the claim at once. The row stays, so that the fence keeps growing. */
export async function releaseClaim(
  store: Store,
  { task, holder, fence }: MaintenanceClaim,
): Promise<void> {
  await store.transaction(
    async ({ db }) =>
      await sql`
        UPDATE maintenance_claims
           SET expires_at_ms = 0
         WHERE task = ${task} AND holder = ${holder} AND fence = ${fence}`.execute(db),
  );
}

/** Throws unless the claim is the newest of its task. It may have expired. */
export async function requireClaim(
  { db }: Tx,
  { task, holder, fence }: MaintenanceClaim,
): Promise<void> {
  const held = await sql`
    SELECT 1 AS held
      FROM maintenance_claims
     WHERE task = ${task} AND holder = ${holder} AND fence = ${fence}`.execute(db);
  if (held.rows.length === 1) return;
  throw new OperatingError("lease_lost", "never", `${holder} no longer has the claim on ${task}`);
}
