/** The specification's views, as queries over one run's records. Rules: RV1. */

import { quoteText } from "../../../data/sql/core/index.ts";
import type { RunId } from "../core/ids.ts";
import { type ExecutionsDeps, withExecutions } from "./with-executions.ts";

type ViewRow = Readonly<Record<string, number | null>>;

export interface RunViews {
  readonly metrics_by_minute: readonly ViewRow[];
  readonly cluster_breakdown: readonly ViewRow[];
  readonly warehouse_timeseries: readonly ViewRow[];
}

const minute = "floor(start_ms / 60000) * 60000";
const counts = {
  operations: "count(*)",
  errors: "count(*) FILTER (NOT success)",
  p50_latency_ms: "quantile_cont(app_elapsed_ms, 0.5) FILTER (success)",
  p95_latency_ms: "quantile_cont(app_elapsed_ms, 0.95) FILTER (success)",
  p99_latency_ms: "quantile_cont(app_elapsed_ms, 0.99) FILTER (success)",
  avg_latency_ms: "avg(app_elapsed_ms) FILTER (success)",
};
const views = {
  metrics_by_minute: { of: "", columns: { minute_ms: minute, ...counts } },
  cluster_breakdown: {
    of: "AND sf_query_id IS NOT NULL",
    columns: {
      cluster_number: "sf_cluster_number",
      ...counts,
      avg_execution_ms: "avg(sf_execution_ms)",
      avg_queued_ms: "avg(sf_queued_ms)",
    },
  },
  warehouse_timeseries: {
    of: "AND sf_query_id IS NOT NULL",
    columns: {
      minute_ms: minute,
      active_clusters: "count(DISTINCT sf_cluster_number)",
      operations: "count(*)",
      queued_operations: "count(*) FILTER (sf_queued_ms > 0)",
      avg_queued_ms: "avg(sf_queued_ms)",
    },
  },
};

/**
 * The SQL of one view for all runs, without warm-up. `records` is a SELECT of the records. A minute
 * is a TIMESTAMP here.
 */
export function viewSql(view: keyof typeof views, records: string): string {
  const { of, columns } = views[view];
  const shown = Object.entries(columns).map(([name, text]) =>
    name === "minute_ms" ? `epoch_ms(CAST(${text} AS BIGINT)) AS minute` : `${text} AS ${name}`,
  );
  return `SELECT run_id, ${shown.join(", ")} FROM (${records}) WHERE NOT warmup ${of} GROUP BY 1, 2`;
}

/** Reads the views of MEASUREMENT. */
export async function readRunViews(
  deps: ExecutionsDeps,
  runId: RunId,
  signal: AbortSignal,
): Promise<RunViews> {
  const found = await withExecutions(deps, signal, async (session) => {
    const read = async ({ of, columns }: (typeof views)[keyof typeof views]) => {
      const names = Object.keys(columns);
      const rows = await session.run(
        `SELECT ${Object.values(columns).join(", ")} FROM all_runs
WHERE run_id = ${quoteText(runId)} AND NOT warmup ${of} GROUP BY 1 ORDER BY 1`,
        signal,
      );
      return rows.map(
        (row): ViewRow => Object.fromEntries(names.map((name, at) => [name, numberOf(row[at])])),
      );
    };
    return {
      metrics_by_minute: await read(views.metrics_by_minute),
      cluster_breakdown: await read(views.cluster_breakdown),
      warehouse_timeseries: await read(views.warehouse_timeseries),
    };
  });
  return found ?? { metrics_by_minute: [], cluster_breakdown: [], warehouse_timeseries: [] };
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}
