import type { QueryRecord } from "../../../ground/work/index.ts";
import type { QueryRecordBody } from "./schemas.ts";

const textCharsMax = 500;

/** A query as the API shows it. Long statements are truncated. */
export function queryBody(record: QueryRecord): QueryRecordBody {
  const { text } = record;
  return {
    query_id: record.queryId,
    kind: record.kind,
    text: text.length > textCharsMax ? `${text.slice(0, textCharsMax)}…` : text,
    state: record.state,
    started_at_ms: record.startedAtMs,
    duration_ms: record.durationMs,
    row_count: record.rowCount ?? null,
    worker_id: record.workerId ?? null,
    attempts: record.attempts,
    error: record.error === undefined ? null : { ...record.error },
  };
}
