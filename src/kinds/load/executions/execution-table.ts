/** The lake's table of executions: its columns are the fields of `QueryExecution`. */
import type { NewColumn } from "../../../data/lake/index.ts";
import type { QueryExecution } from "../core/query-execution.ts";

export const executionTable = "query_executions";

/** A worker writes the NOT NULL columns; enrichment fills the others. */
const types: Readonly<Record<keyof QueryExecution, string>> = {
  execution_id: "VARCHAR NOT NULL",
  test_id: "VARCHAR NOT NULL",
  run_id: "VARCHAR NOT NULL",
  worker_id: "VARCHAR NOT NULL",
  connection_id: "INTEGER NOT NULL",
  operation: "VARCHAR NOT NULL",
  query_kind: "VARCHAR NOT NULL",
  step_number: "INTEGER NOT NULL",
  intended_start_ms: "DOUBLE NOT NULL",
  start_ms: "DOUBLE NOT NULL",
  app_elapsed_ms: "DOUBLE NOT NULL",
  service_ms: "DOUBLE NOT NULL",
  success: "BOOLEAN NOT NULL",
  error_kind: "VARCHAR",
  error_message: "VARCHAR",
  rows_affected: "BIGINT NOT NULL",
  warmup: "BOOLEAN NOT NULL",
  sf_query_id: "VARCHAR",
  sf_total_elapsed_ms: "DOUBLE",
  sf_execution_ms: "DOUBLE",
  sf_compilation_ms: "DOUBLE",
  sf_queued_ms: "DOUBLE",
  sf_cluster_number: "INTEGER",
};

export const executionColumns: readonly NewColumn[] = Object.entries(types).map(
  ([name, definition]) => ({
    name,
    type: definition.replace(" NOT NULL", ""),
    nullable: !definition.endsWith(" NOT NULL"),
    defaultValue: undefined,
  }),
);
