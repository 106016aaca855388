/**
 * A run's log: `test_logs`, numbered per run, so that a reader asks for what came after the last
 * line that it has.
 */

import { sql } from "kysely";
import { assert } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { RunId } from "../core/ids.ts";
import type { LogUpdate } from "../core/run-update.ts";
import type { LogLine } from "../core/worker-control.ts";

const messageCharsMax = 2_000;

/**
 * Lines that are there already are not stored again. Nothing happens to lines of a run that is
 * gone.
 */
export async function appendLogs(
  { db }: Tx,
  runId: RunId,
  lines: readonly LogLine[],
): Promise<void> {
  if (lines.length === 0) return;
  const ids = lines.map(({ logId }) => logId);
  const known = await db
    .selectFrom("test_logs")
    .select("log_id")
    .where("log_id", "in", ids)
    .execute();
  const knownIds = new Set(known.map(({ log_id: id }) => id));
  const fresh = lines.filter(({ logId }) => !knownIds.has(logId));
  if (fresh.length === 0) return;
  const taken = await sql<{ next: number }>`
       UPDATE run_status
          SET next_log_sequence = next_log_sequence + CAST(${fresh.length} AS BIGINT)
        WHERE run_id = ${runId}
    RETURNING next_log_sequence AS next`.execute(db);
  const next = taken.rows[0]?.next;
  if (next === undefined) return;
  await db
    .insertInto("test_logs")
    .values(
      fresh.map((line, index) => ({
        run_id: runId,
        sequence: next - fresh.length + index,
        log_id: line.logId,
        test_id: line.testId,
        worker_id: line.workerId,
        level: line.level,
        message: line.message.slice(0, messageCharsMax),
        details: line.details === null ? null : JSON.stringify(line.details),
        timestamp_ms: line.timestampMs,
        created_at_ms: sql<number>`now_ms()`,
      })),
    )
    .execute();
}

export interface StoredLog extends LogUpdate {
  readonly test_id: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
  /** When the store received it, by the store's clock. */
  readonly created_at: string;
}

/** At most `limit` lines, in order. */
export async function readLogs(
  { db }: Tx,
  runId: RunId,
  afterSequence: number,
  limit: number,
): Promise<readonly StoredLog[]> {
  assert(limit > 0, "somebody who reads logs wants some");
  const rows = await db
    .selectFrom("test_logs")
    .selectAll()
    .where("run_id", "=", runId)
    .where("sequence", ">", afterSequence)
    .orderBy("sequence")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    sequence: row.sequence,
    level: row.level,
    message: row.message,
    worker_id: row.worker_id,
    timestamp: new Date(row.timestamp_ms).toISOString(),
    test_id: row.test_id,
    details: row.details === null ? null : (JSON.parse(row.details) as Record<string, unknown>),
    created_at: new Date(row.created_at_ms).toISOString(),
  }));
}
