/**
 * A preview as the answer of a statement: lines of JSON like those of any other rows, an empty one
 * now and then, and one that says why nothing comes.
 */
import { bodyOf, problemOf } from "../../../../ground/http/index.ts";
import type { QueryId } from "../../../../ground/kernel/ids.ts";
import type { OpenedPreview } from "../core/preview.ts";

const encoder = new TextEncoder();

export async function* previewLines(
  { queryId: id, columns, events }: OpenedPreview,
  queryId: QueryId,
): AsyncGenerator<Uint8Array> {
  yield line({ query_id: queryId, columns, preview: id });
  try {
    for await (const event of events) {
      switch (event.kind) {
        case "rows":
          if (event.lines.length > 0) yield encoder.encode(`${event.lines.join("\n")}\n`);
          break;
        case "waiting":
          yield line({ waiting: event.reason });
          break;
        case "end": {
          const { rowCount, durationMs, workerId, leftOut, reason } = event;
          const summary = {
            row_count: rowCount,
            duration_ms: Math.round(durationMs),
            worker_id: workerId,
            artifact_bytes: 0,
            left_out: leftOut,
            ended: reason,
          };
          yield line({ summary });
        }
      }
    }
  } catch (thrown) {
    yield line({ error: bodyOf(problemOf(thrown, queryId)) });
  }
}

function line(value: object): Uint8Array {
  return encoder.encode(`${JSON.stringify(value)}\n`);
}
