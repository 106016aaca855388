/** Column types of the metrics tables, which `sql/schema` defines. */
import { columnTypesOf, type TablesOf } from "../../../../ground/store/core/index.ts";

const metricCells = {
  metric_segments: {
    segment_id: "text",
    seq: "number",
    level: "number",
    min_ts: "number",
    max_ts: "number",
    shard_count: "number",
    shard: "number",
    series_count: "number",
    sample_count: "number",
    histogram_count: "number",
    size_bytes: "number",
    /** A JSON array; NULL when there are too many to list. */
    metric_names: "text?",
    path: "text",
    seal_seq: "number",
    created_at_ms: "number",
    /** NULL while the segment is visible. */
    removed_at_ms: "number?",
    /** A JSON object with the CRC-32 of each file; NULL when not verified yet. */
    checksums: "text?",
    /** When upkeep last read its files whole. */
    checked_at_ms: "number?",
    /** The damage that was found then; NULL when the files were sound. */
    damage: "text?",
  },
  metric_catalog: {
    /** Always 1: the table has one row. */
    id: "number",
    version: "number",
    next_seq: "number",
  },
  metrics_head: {
    /** Always 1: the table has one row at most. */
    id: "number",
    url: "text",
    incarnation: "text",
    lease_epoch: "number",
  },
  maintenance_claims: {
    task: "text",
    holder: "text",
    fence: "number",
    expires_at_ms: "number",
  },
} as const;

type MetricTables = TablesOf<typeof metricCells>;
/** A segment of metrics: its `SegmentInfo`, and the row's own times. */
export type MetricSegmentsTable = MetricTables["metric_segments"];

declare module "../../../../ground/store/core/schema.ts" {
  interface ControlSchema extends MetricTables {}
}

export const metricTableColumns = columnTypesOf(metricCells);
