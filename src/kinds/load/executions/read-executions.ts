/** A run's records, a page at a time, for people who look for single queries. */

import { quoteText } from "../../../data/sql/core/index.ts";
import type { RunId } from "../core/ids.ts";
import type { QueryExecution } from "../core/query-execution.ts";
import { executionColumns } from "./execution-table.ts";
import { type ExecutionsDeps, withExecutions } from "./with-executions.ts";

export interface ExecutionFilter {
  readonly limit: number;
  readonly offset: number;
  readonly order: "start" | "slowest";
  readonly failedOnly: boolean;
  readonly operation?: string;
  readonly workerId?: string;
}

export async function readExecutions(
  deps: ExecutionsDeps,
  runId: RunId,
  filter: ExecutionFilter,
  signal: AbortSignal,
): Promise<readonly QueryExecution[]> {
  const names = executionColumns.map(({ name }) => name);
  const { operation, workerId } = filter;
  const conditions = [
    `run_id = ${quoteText(runId)}`,
    ...(filter.failedOnly ? ["NOT success"] : []),
    ...(operation === undefined ? [] : [`operation = ${quoteText(operation)}`]),
    ...(workerId === undefined ? [] : [`worker_id = ${quoteText(workerId)}`]),
  ];
  const order = filter.order === "slowest" ? "app_elapsed_ms DESC" : "start_ms";
  const rows = await withExecutions(deps, signal, (session) =>
    session.run(
      `SELECT ${names.join(", ")} FROM all_runs WHERE ${conditions.join(" AND ")}
ORDER BY ${order}, execution_id LIMIT ${filter.limit} OFFSET ${filter.offset}`,
      signal,
    ),
  );
  return (rows ?? []).map(
    (row) =>
      Object.fromEntries(
        executionColumns.map(({ name, type }, at) => [name, plain(type, row[at])]),
      ) as unknown as QueryExecution,
  );
}

/** The engine returns a BIGINT as text; counts fit in a double. */
function plain(type: string, value: unknown): unknown {
  return type === "BIGINT" ? Number(value) : value;
}
