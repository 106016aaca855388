/**
 * Did it commit? Asked when the connection broke while COMMIT was under way: the answer may have been lost
 * on its way back, or the question on its way there. The server remembers every transaction's fate.
 *
 * A standby promoted meanwhile that had not received the commit (asynchronous replication) forgot more than
 * this transaction, and may have given its id to another: no question asked of it helps against that.
 */
import type pg from "pg";
import type { RetryBound } from "../catalog/retry-bound.ts";
import { isConnectionLost } from "./postgres-errors.ts";

export type CommitOutcome = "committed" | "aborted" | "unknown";

export interface DoubtfulTransaction {
  /** `undefined`: the server cannot tell (before Postgres 13, or only speaking its protocol). */
  readonly xid: string | undefined;
}

const statusOf = "SELECT pg_xact_status($1::text::xid8) AS status";

/**
 * COMMIT never arrived, and the session still holds its locks because nobody told the server that its client
 * is gone. Ending it decides the matter, unless the commit comes first; both are fine. The id in the WHERE
 * makes sure that it is that transaction's session and no other.
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
      if (status !== "in progress") return "unknown"; // So old that it was forgotten.
      await pool.query(endSession, [xid]);
    } catch (error) {
      // Another server, perhaps: one that was promoted and never heard of this transaction.
      if (!isConnectionLost(error)) return "unknown";
    }
  } while (await bound.pause());
  return "unknown";
}
