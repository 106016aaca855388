/**
 * What a server told of single executions, in a table of the lake beside `query_executions` and
 * joined with it when it is read. Rows of `query_executions` are never changed: its files are large
 * and many, and to update them would write each of them anew.
 */
import type { NewColumn } from "../../../data/lake/index.ts";
import type { QueryExecution } from "../core/query-execution.ts";

export const enrichmentTable = "query_enrichments";

const told: Readonly<Record<`sf_${string}` & keyof QueryExecution, string>> = {
  sf_query_id: "VARCHAR",
  sf_total_elapsed_ms: "DOUBLE",
  sf_execution_ms: "DOUBLE",
  sf_compilation_ms: "DOUBLE",
  sf_queued_ms: "DOUBLE",
  sf_cluster_number: "VARCHAR", // It may be unknown, and the appender supports NULL only for text.
};

export const enrichmentColumns: readonly NewColumn[] = [
  { name: "run_id", type: "VARCHAR", nullable: false, defaultValue: undefined },
  { name: "execution_id", type: "VARCHAR", nullable: false, defaultValue: undefined },
  ...Object.entries(told).map(([name, type]) => ({
    name,
    type,
    nullable: true,
    defaultValue: undefined,
  })),
];

/** Records with their enrichment. When two coordinators enriched one execution, one row counts. */
export function enrichedSql(executions: string, enrichments: string): string {
  const names = Object.keys(told);
  const filled = names.map((name) => {
    const found = name === "sf_cluster_number" ? `TRY_CAST(e.${name} AS INTEGER)` : `e.${name}`;
    return `coalesce(q.${name}, ${found}) AS ${name}`;
  });
  return `SELECT q.* REPLACE (${filled.join(", ")}) FROM (${executions}) q
LEFT JOIN (SELECT DISTINCT ON (run_id, execution_id) run_id, execution_id, ${names.join(", ")} FROM (${enrichments})) e
  ON q.run_id = e.run_id AND q.execution_id = e.execution_id`;
}
