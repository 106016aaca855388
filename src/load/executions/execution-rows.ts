/** A batch as rows of `query_executions`. Pure. */
import type { ColumnsOfRows } from "../../lake/index.ts";
import type { ColumnValues } from "../../parquet/index.ts";
import type { QueryKind } from "../core/operation.ts";
import type { QueryExecution } from "../core/query-execution.ts";
import type { ExecutionBatch } from "./execution-buffer.ts";

/** What all rows of one worker have in common. */
export interface ExecutionSource {
  readonly runId: string;
  readonly testId: string;
  readonly workerId: string;
  readonly operations: readonly { readonly name: string; readonly kind: QueryKind }[];
  /** The store's time, milliseconds since 1970, when the process's clock was 0. */
  readonly originMs: number;
}

/** `first`: how many rows this worker had before. */
export function rowsOf(
  batch: ExecutionBatch,
  source: ExecutionSource,
  first: number,
): ColumnsOfRows {
  const { rowCount, failures } = batch;
  const numbers = (of: (row: number) => number): Float64Array => {
    const values = new Float64Array(rowCount);
    for (let row = 0; row < rowCount; row += 1) values[row] = of(row);
    return values;
  };
  const texts = <T extends string | null>(of: (row: number) => T): T[] => {
    const values = new Array<T>(rowCount);
    for (let row = 0; row < rowCount; row += 1) values[row] = of(row);
    return values;
  };
  const all = (text: string): string[] => new Array<string>(rowCount).fill(text);
  const at = (column: Float64Array, row: number): number => column[row] ?? 0;
  const names = source.operations.map(({ name }) => name);
  const kinds = source.operations.map(({ kind }) => kind);
  const failed = batch.failure.subarray(0, rowCount);
  const failureOf = (row: number) => failures[(failed[row] ?? 0) - 1];
  const columns: Partial<Record<keyof QueryExecution, ColumnValues>> = {
    execution_id: texts((row) => `${source.testId}/${first + row}`),
    test_id: all(source.testId),
    run_id: all(source.runId),
    worker_id: all(source.workerId),
    connection_id: batch.connection.subarray(0, rowCount),
    operation: texts((row) => names[batch.operation[row] ?? 0] ?? ""),
    query_kind: texts((row) => kinds[batch.operation[row] ?? 0] ?? ""),
    step_number: batch.step.subarray(0, rowCount),
    intended_start_ms: numbers((row) => source.originMs + at(batch.intendedMs, row)),
    start_ms: numbers((row) => source.originMs + at(batch.startMs, row)),
    app_elapsed_ms: numbers((row) => at(batch.endMs, row) - at(batch.intendedMs, row)),
    service_ms: numbers((row) => at(batch.endMs, row) - at(batch.startMs, row)),
    success: Uint8Array.from(failed, (number) => (number === 0 ? 1 : 0)),
    rows_affected: batch.rows.subarray(0, rowCount),
    warmup: batch.isWarmup.subarray(0, rowCount),
    ...(failures.length === 0
      ? {}
      : {
          error_kind: texts((row) => failureOf(row)?.kind ?? null),
          error_message: texts((row) => failureOf(row)?.message ?? null),
        }),
  };
  return new Map(Object.entries(columns));
}
