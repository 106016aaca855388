/** The lake's table `query_executions`: one row for each operation that was executed. */
import type { QueryKind } from "./operation.ts";

/** A worker writes the NOT NULL columns; enrichment fills those of `sf_`. */
export const executionTypes = {
  execution_id: "VARCHAR NOT NULL",
  /** The test id of the worker's row. */
  test_id: "VARCHAR NOT NULL",
  run_id: "VARCHAR NOT NULL",
  worker_id: "VARCHAR NOT NULL",
  connection_id: "INTEGER NOT NULL",
  operation: "VARCHAR NOT NULL",
  query_kind: "VARCHAR NOT NULL",
  step_number: "INTEGER NOT NULL",
  /** The intended and the actual start: milliseconds since 1970, with fractions. */
  intended_start_ms: "DOUBLE NOT NULL",
  start_ms: "DOUBLE NOT NULL",
  /** From the intended start to the answer. */
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
} as const;

type Cell<Type extends string> = Type extends `${infer Plain} NOT NULL`
  ? Exclude<Cell<Plain>, null>
  : (Type extends "VARCHAR" ? string : Type extends "BOOLEAN" ? boolean : number) | null;

export type QueryExecution = {
  readonly [Name in keyof typeof executionTypes]: Name extends "query_kind"
    ? QueryKind
    : Cell<(typeof executionTypes)[Name]>;
};
