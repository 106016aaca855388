/** A row of the lake's table `query_executions`: one operation that was executed. */
import type { QueryKind } from "./operation.ts";

export interface QueryExecution {
  readonly execution_id: string;
  /** The test id of the worker's row. */
  readonly test_id: string;
  readonly run_id: string;
  readonly worker_id: string;
  readonly connection_id: number;
  readonly operation: string;
  readonly query_kind: QueryKind;
  readonly step_number: number;
  /** The intended and the actual start: milliseconds since 1970, with fractions. */
  readonly intended_start_ms: number;
  readonly start_ms: number;
  /** From the intended start to the answer. */
  readonly app_elapsed_ms: number;
  readonly service_ms: number;
  readonly success: boolean;
  readonly error_kind: string | null;
  readonly error_message: string | null;
  readonly rows_affected: number;
  readonly warmup: boolean;
  /** From enrichment; null before. */
  readonly sf_query_id: string | null;
  readonly sf_total_elapsed_ms: number | null;
  readonly sf_execution_ms: number | null;
  readonly sf_compilation_ms: number | null;
  readonly sf_queued_ms: number | null;
  readonly sf_cluster_number: number | null;
}
