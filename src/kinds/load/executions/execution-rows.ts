/** A batch as rows of `query_executions`. Pure. */

import type { ColumnsOfRows } from "../../../data/lake/index.ts";
import { CodedTexts, NumberedTexts, type WrittenValues } from "../../../data/parquet/index.ts";
import type { LoadWorkerId, RunId } from "../core/ids.ts";
import type { QueryKind } from "../core/operation.ts";
import type { QueryExecution } from "../core/query-execution.ts";
import type { ExecutionBatch } from "./execution-buffer.ts";

/** The values that all rows of one worker share. */
export interface ExecutionSource {
  readonly runId: RunId;
  readonly testId: string;
  readonly workerId: LoadWorkerId;
  readonly operations: readonly { readonly name: string; readonly kind: QueryKind }[];
}

/**
 * `first` is the number of this worker's earlier rows. `originMs` is the store's time, in
 * milliseconds since 1970, when the process's clock was 0.
 */
export function rowsOf(
  batch: ExecutionBatch,
  source: ExecutionSource,
  { first, originMs }: { readonly first: number; readonly originMs: number },
): ColumnsOfRows {
  const { rowCount, failures } = batch;
  const { operations } = source;
  const part = <T extends Int32Array | Float64Array | Uint8Array | Uint16Array>(column: T): T =>
    column.subarray(0, rowCount) as T;
  const failed = part(batch.failure);
  const operation = part(batch.operation);
  const all = (text: string): CodedTexts => CodedTexts.constant(text, rowCount);
  const said = (of: "kind" | "message"): (string | null)[] =>
    Array.from(failed, (number) => failures[number - 1]?.[of] ?? null);
  const columns: Partial<Record<keyof QueryExecution, WrittenValues>> = {
    execution_id: new NumberedTexts(`${source.testId}/`, first, rowCount),
    test_id: all(source.testId),
    run_id: all(source.runId),
    worker_id: all(source.workerId),
    connection_id: part(batch.connection),
    operation: new CodedTexts(
      operations.map(({ name }) => name),
      operation,
    ),
    query_kind: new CodedTexts(
      operations.map(({ kind }) => kind),
      operation,
    ),
    step_number: part(batch.step),
    intended_start_ms: plus(part(batch.intendedMs), originMs),
    start_ms: plus(part(batch.startMs), originMs),
    app_elapsed_ms: minus(part(batch.endMs), batch.intendedMs),
    service_ms: minus(part(batch.endMs), batch.startMs),
    success: zeros(failed),
    rows_affected: part(batch.rows),
    warmup: part(batch.isWarmup),
    ...(failures.length === 0 ? {} : { error_kind: said("kind"), error_message: said("message") }),
  };
  return new Map(Object.entries(columns));
}

function plus(values: Float64Array, amount: number): Float64Array {
  const sums = new Float64Array(values.length);
  for (let row = 0; row < sums.length; row += 1) sums[row] = (values[row] as number) + amount;
  return sums;
}

function minus(values: Float64Array, others: Float64Array): Float64Array {
  const rest = new Float64Array(values.length);
  for (let row = 0; row < rest.length; row += 1) {
    rest[row] = (values[row] as number) - (others[row] as number);
  }
  return rest;
}

/** Maps 0 to 1 and other numbers to 0. */
function zeros(numbers: Uint16Array): Uint8Array {
  const flags = new Uint8Array(numbers.length);
  for (let row = 0; row < flags.length; row += 1) flags[row] = numbers[row] === 0 ? 1 : 0;
  return flags;
}
