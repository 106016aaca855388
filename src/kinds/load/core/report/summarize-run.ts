/** A run in plain numbers, for `--json` and for whoever reads it later. */
import { writeScenario } from "../scenario-codec.ts";
import type { RunReport } from "./run-report.ts";

export type SummarizedRun = ReturnType<typeof summarizeRun>;

export function summarizeRun(report: RunReport) {
  const { record, scenario } = report;
  return {
    run_id: report.run_id,
    test_name: report.test_name,
    template_name: scenario.templateName,
    status: report.status,
    cancellation_reason: report.cancellation_reason,
    started_at: report.started_at,
    ended_at: report.ended_at,
    worker_count: report.worker_count,
    load_mode: scenario.workload.loadMode,
    ...record,
    find_max: report.find_max?.result ?? null,
    find_max_steps: report.find_max?.steps ?? [],
    configuration: writeScenario(scenario),
  };
}
