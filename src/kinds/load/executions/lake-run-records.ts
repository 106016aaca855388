/** A run's records in the lake, for the orchestrator. */
import type { LakeAppender } from "../../../data/lake/index.ts";
import { quoteText } from "../../../data/sql/core/index.ts";
import type { RunRecords } from "../orchestrator/ports.ts";
import { enrichExecutions } from "./enrich-executions.ts";
import { enrichmentTable } from "./enrichment-table.ts";
import { executionTable } from "./execution-table.ts";
import { type FinalFiguresDeps, recordedPercentiles } from "./final-figures.ts";

export interface LakeRunRecordsDeps extends FinalFiguresDeps {
  /** Appends to `query_enrichments`. */
  readonly appender: Pick<LakeAppender, "append">;
  /** Runs a statement that changes rows. */
  readonly change: (sql: string, signal: AbortSignal) => Promise<void>;
}

export function createLakeRunRecords(deps: LakeRunRecordsDeps): RunRecords {
  return {
    percentiles: (runId, signal) => recordedPercentiles(deps, runId, signal),
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
