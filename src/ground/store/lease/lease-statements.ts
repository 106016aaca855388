/**
 * The lease's statements. Each is a function of its own, and its WHERE clause is the argument why
 * two processes never hold one epoch. Time is the database's `now_ms()`.
 */
import { type Kysely, sql } from "kysely";
import { assert, OperatingError } from "../../kernel/errors.ts";
import { type LeaseEpoch, parseLeaseEpoch } from "../../kernel/ids.ts";
import type { ControlSchema } from "../core/schema.ts";
import type { LeaseGrant } from "../core/store.ts";

type Db = Kysely<ControlSchema>;

export interface LeaseRequest {
  readonly name: string;
  readonly holder: string;
  readonly apiUrl: string;
  readonly leaseMs: number;
  /** Whether a lease in our own name may be taken before it expires, after a restart. */
  readonly restarted: boolean;
}

/** Grants a new epoch iff the lease is free, expired, or ours from before a restart. */
export async function acquireLease(db: Db, request: LeaseRequest): Promise<LeaseGrant | undefined> {
  const { name, holder, apiUrl, leaseMs, restarted } = request;
  const granted = await sql<{ epoch: number }>`
    INSERT INTO coordinator_leases (name, holder, epoch, expires_at_ms, api_url)
    VALUES (${name}, ${holder}, 1, now_ms() + ${leaseMs}, ${apiUrl})
        ON CONFLICT (name) DO UPDATE
       SET holder = excluded.holder,
           epoch = coordinator_leases.epoch + 1,
           expires_at_ms = excluded.expires_at_ms,
           api_url = excluded.api_url
     WHERE coordinator_leases.expires_at_ms <= now_ms()
        OR (${restarted ? 1 : 0} = 1 AND coordinator_leases.holder = excluded.holder)
    RETURNING epoch`.execute(db);
  const row = granted.rows[0];
  return row === undefined ? undefined : { name, holder, epoch: epochOf(row.epoch) };
}

/** Extends iff nobody was granted a newer epoch, even if the lease has expired. */
export async function renewLease(db: Db, grant: LeaseGrant, leaseMs: number): Promise<boolean> {
  const renewed = await sql`
       UPDATE coordinator_leases
          SET expires_at_ms = now_ms() + ${leaseMs}
        WHERE name = ${grant.name} AND holder = ${grant.holder} AND epoch = ${grant.epoch}
    RETURNING epoch`.execute(db);
  return renewed.rows.length === 1;
}

/** Frees the lease. The row stays, so that the epoch goes on growing. */
export async function releaseLease(db: Db, grant: LeaseGrant): Promise<void> {
  await sql`
    UPDATE coordinator_leases
       SET expires_at_ms = now_ms()
     WHERE name = ${grant.name} AND holder = ${grant.holder} AND epoch = ${grant.epoch}`.execute(
    db,
  );
}

/** Throws `lease_lost` unless the grant is the newest. Expiry does not matter. */
export async function requireLease(db: Db, grant: LeaseGrant): Promise<void> {
  const held = await sql`
    SELECT 1 AS held
      FROM coordinator_leases
     WHERE name = ${grant.name} AND holder = ${grant.holder} AND epoch = ${grant.epoch}`.execute(
    db,
  );
  if (held.rows.length === 1) return;
  throw new OperatingError(
    "lease_lost",
    "never",
    `${grant.holder} no longer holds the lease ${grant.name} with epoch ${grant.epoch}`,
  );
}

/** The lease as any process sees it. */
export interface LeaseView {
  readonly holder: string;
  readonly epoch: LeaseEpoch;
  readonly apiUrl: string;
  /** By the database's clock when it was read. Zero or less when expired. */
  readonly remainingMs: number;
}

export async function selectLease(db: Db, name: string): Promise<LeaseView | undefined> {
  const found = await sql<{ holder: string; epoch: number; api_url: string; remaining_ms: number }>`
    SELECT holder, epoch, api_url, expires_at_ms - now_ms() AS remaining_ms
      FROM coordinator_leases
     WHERE name = ${name}`.execute(db);
  const row = found.rows[0];
  if (row === undefined) return undefined;
  return {
    holder: row.holder,
    epoch: epochOf(row.epoch),
    apiUrl: row.api_url,
    remainingMs: row.remaining_ms,
  };
}

function epochOf(value: number): LeaseEpoch {
  const epoch = parseLeaseEpoch(value);
  assert(epoch !== undefined, "a lease's epoch is a safe integer");
  return epoch;
}
