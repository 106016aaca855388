/** A run's records in the lake, as the orchestrator asks for them. */
import { OperatingError } from "../../kernel/errors.ts";
import type { RunRecords } from "../orchestrator/ports.ts";
import { type FinalFiguresDeps, finalFigures } from "./final-figures.ts";

export function createLakeRunRecords(deps: FinalFiguresDeps): RunRecords {
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
    async enrich({ scenario }) {
      const message = `a target of kind ${scenario.target.kind} tells nothing of single queries`;
      throw new OperatingError("unsupported", "never", message);
    },
  };
}
