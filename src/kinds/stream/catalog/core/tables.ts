/**
 * The store tables of the catalog. `sql/schema` describes their columns, from
 * `015-stream-catalog.sql` on.
 */
import {
  columnTypesOf,
  type TablesOf,
  type WatchedTables,
} from "../../../../ground/store/core/index.ts";
import { desiredStates, fragmentStates, queryStates } from "./states.ts";

const catalogCells = {
  source_types: { type: "text" },
  sink_types: { type: "text" },
  query_states: { state: "text" },
  query_transitions: { from_state: "text", to_state: "text" },
  query_fragment_states: { state: "text" },
  query_fragment_transitions: { from_state: "text", to_state: "text" },
  stream_catalog: { id: "number", version: "number", last_id: "number" },
  stream_workers: { worker_id: "text", label: "text?", slots: "number", slots_used: "number" },
  network_links: { src_worker_id: "text", dst_worker_id: "text" },
  logical_sources: {
    source_id: "text",
    name: "text",
    name_key: "text",
    kind: ["LOGICAL", "DERIVED", "VIEW"],
    source_schema: "text",
    watermark: "text?",
    definition: "text?",
    superseded_by: "text?",
    created_at_ms: "number",
  },
  logical_source_uses: { source_id: "text", used_source_id: "text" },
  physical_sources: {
    physical_source_id: "text",
    source_id: "text",
    worker_id: "text?",
    source_type: "text",
    source_config: "text",
    parser_config: "text",
    description_key: "text",
    superseded_by: "text?",
    created_at_ms: "number",
  },
  sinks: {
    sink_id: "text",
    name: "text",
    name_key: "text",
    sink_schema: "text?",
    worker_id: "text?",
    sink_type: "text",
    sink_config: "text",
    formatter_config: "text",
    superseded_by: "text?",
    created_at_ms: "number",
  },
  queries: {
    query_id: "text",
    name: "text?",
    name_key: "text?",
    state: queryStates,
    previous_state: "text",
    desired_state: desiredStates,
    stop_mode: ["SOFT", "HARD", null],
    epoch: "number",
    state_reason: "text",
    error_code: "text?",
    error_number: "number?",
    error_worker_id: "text?",
    guarantee: "text",
    failures_in_a_row: "number",
    superseded_by: "text?",
    created_at_ms: "number",
    state_changed_at_ms: "number",
    is_preview: "number",
    savepoints_asked: "number",
    savepoints_taken: "number",
  },
  query_plans: {
    query_id: "text",
    statement: "text",
    plan_version: "number",
    plan: "text",
    state_family: "text?",
  },
  query_fragments: {
    fragment_id: "text",
    query_id: "text",
    fragment: "text",
    worker_id: "text",
    is_pinned: "number",
    epoch: "number",
    state: fragmentStates,
    previous_state: "text",
    state_reason: "text",
    holds_slot: "number",
    state_changed_at_ms: "number",
  },
  query_cleanups: { query_id: "text", worker_id: "text", epoch: "number" },
  query_logical_sources: { query_id: "text", source_id: "text" },
  query_physical_sources: { query_id: "text", physical_source_id: "text" },
  query_sinks: { query_id: "text", sink_id: "text" },
  query_lake_tables: { query_id: "text", table_id: "number", writes: "number" },
  query_lake_sinks: { query_id: "text", table_key: "text" },
  query_deployments: { query_id: "text", epoch: "number", reachable_ms: "number" },
  query_checkpoints: {
    query_id: "text",
    checkpoint: "number",
    epoch: "number",
    manifest: "text",
    size_bytes: "number",
    duration_ms: "number",
    completed_at_ms: "number",
    savepoint: "number?",
  },
  query_history: {
    query_id: "text",
    number: "number",
    query_name: "text?",
    epoch: "number",
    from_state: "text",
    to_state: "text?",
    reason: "text",
    at_ms: "number",
  },
  stream_secrets: { owner_id: "text", place: "text", value: "text" },
  stream_requests: { request_id: "text", answer: "text", at_ms: "number" },
} as const;

type CatalogTables = TablesOf<typeof catalogCells>;
export type LogicalSourceRow = CatalogTables["logical_sources"];
export type PhysicalSourceRow = CatalogTables["physical_sources"];
export type SinkRow = CatalogTables["sinks"];
export type QueryRow = CatalogTables["queries"];
export type FragmentRow = CatalogTables["query_fragments"];

declare module "../../../../ground/store/core/schema.ts" {
  interface ControlSchema extends CatalogTables {}
  interface WatchedNames {
    logical_sources: true;
    physical_sources: true;
    sinks: true;
    queries: true;
    query_fragments: true;
  }
}

export const catalogTableColumns = columnTypesOf(catalogCells);

export const watchedStreamTables: WatchedTables = {
  logical_sources: { key: "source_id", columns: catalogTableColumns.logical_sources },
  physical_sources: { key: "physical_source_id", columns: catalogTableColumns.physical_sources },
  sinks: { key: "sink_id", columns: catalogTableColumns.sinks },
  queries: { key: "query_id", columns: catalogTableColumns.queries },
  query_fragments: { key: "fragment_id", columns: catalogTableColumns.query_fragments },
};
