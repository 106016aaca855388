/**
 * Finds out whether a transaction committed, after its connection broke during COMMIT. Either the
 * COMMIT or its answer may have been lost; the server knows the transaction's fate.
 *
 * A promoted standby that had not received the commit (asynchronous replication) may have given its
 * id to another transaction. That case cannot be detected.
 */
import type pg from "pg";
import type { RetryBound } from "../catalog/retry-bound.ts";
import { isConnectionLost } from "./postgres-errors.ts";

export type CommitOutcome = "committed" | "aborted" | "unknown";

export interface DoubtfulTransaction {
  /** Undefined when the server cannot tell (before Postgres 13, or another database). */
  readonly xid: string | undefined;
}

const statusOf = "SELECT pg_xact_status($1::text::xid8) AS status";

/**
 * Ends a session whose COMMIT never arrived. It still holds its locks, because the server does not
 * know that the client is gone. If the commit comes first, that is fine too. The id in the WHERE
 * ensures that it is that transaction's session.
 */
const endSession = `
  SELECT pg_terminate_backend(pid)
    FROM pg_stat_activity
   WHERE backend_xid = $1::text::xid8::xid`;

export async function resolveCommit(
  pool: pg.Pool,
  { xid }: DoubtfulTransaction,
  bound: RetryBound,
): Promise<CommitOutcome> {
  if (xid === undefined) return "unknown";
  do {
    try {
      const found = await pool.query<{ status: string | null }>(statusOf, [xid]);
      const status = found.rows[0]?.status;
      if (status === "committed" || status === "aborted") return status;
      if (status !== "in progress") return "unknown"; // Too old: the server forgot it.
      await pool.query(endSession, [xid]);
    } catch (error) {
      // Perhaps a promoted server that never heard of this transaction.
      if (!isConnectionLost(error)) return "unknown";
    }
  } while (await bound.pause());
  return "unknown";
}
