/** An answer whose rows are at hand, as the same lines that a worker's rows come in. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { SqlResult } from "../../duckdb/index.ts";

export interface LocalAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Of a statement that gives no rows: what it did, in a word or two, and how many rows that were. */
export function done(what: string, rowCount?: number): LocalAnswer {
  return {
    columns: [
      { name: "status", type: "VARCHAR" },
      ...(rowCount === undefined ? [] : [{ name: "rows", type: "BIGINT" }]),
    ],
    rows: [rowCount === undefined ? [what] : [what, rowCount]],
  };
}

export function answerLocally(
  queryId: QueryId,
  { columns, rows }: LocalAnswer,
  durationMs: number,
): SqlResult {
  const summary = {
    row_count: rows.length,
    duration_ms: Math.round(durationMs * 1_000) / 1_000,
    worker_id: null,
    artifact_bytes: 0,
  };
  const lines = [{ query_id: queryId, columns }, ...rows, { summary }];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { queryId, stream: oneChunk(Buffer.from(text)) };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
