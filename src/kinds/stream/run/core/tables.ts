/** The store tables of this room, as `sql/schema/014-stream-checkpoints.sql` describes them. */
import { columnTypesOf, type TablesOf } from "../../../../ground/store/core/index.ts";

const streamCells = {
  stream_checkpoints: {
    query_id: "text",
    epoch: "number",
    checkpoint: "number",
    manifest: "text?",
    completed_at_ms: "number",
  },
} as const;

type StreamTables = TablesOf<typeof streamCells>;

declare module "../../../../ground/store/core/schema.ts" {
  interface ControlSchema extends StreamTables {}
}

export const streamTableColumns = columnTypesOf(streamCells);
