/** A run's records in the lake, as the orchestrator asks for them. */
import type { LakeAppender } from "../../lake/index.ts";
import { quoteText } from "../../sql/core/index.ts";
import type { RunRecords } from "../orchestrator/ports.ts";
import { enrichExecutions } from "./enrich-executions.ts";
import { enrichmentTable } from "./enrichment-table.ts";
import { executionTable } from "./execution-table.ts";
import { type FinalFiguresDeps, finalFigures } from "./final-figures.ts";

export interface LakeRunRecordsDeps extends FinalFiguresDeps {
  /** To `query_enrichments`. */
  readonly appender: Pick<LakeAppender, "append">;
  /** A statement that changes rows, where such statements run. */
  readonly change: (sql: string, signal: AbortSignal) => Promise<void>;
}

export function createLakeRunRecords(deps: LakeRunRecordsDeps): RunRecords {
  return {
    async percentiles(runId, signal) {
      const { latency, recorded_operations: recordCount } = await finalFigures(deps, runId, signal);
      if (latency === null) return undefined;
      return {
        recordCount,
        p50: latency.p50_ms,
        p90: latency.p90_ms,
        p95: latency.p95_ms,
        p99: latency.p99_ms,
        p999: latency.p999_ms,
        avg: latency.avg_ms,
        min: latency.min_ms,
        max: latency.max_ms,
      };
    },
    enrich: (run, target, signal) => enrichExecutions(deps, run, target, signal),
    async remove(runIds, signal) {
      const tables = await deps.catalog.tables();
      for (const name of [enrichmentTable, executionTable]) {
        if (!tables.some((each) => each.schema === "main" && each.name === name)) continue;
        const ids = runIds.map(quoteText).join(", ");
        await deps.change(`DELETE FROM ${name} WHERE run_id IN (${ids})`, signal);
      }
    },
  };
}
