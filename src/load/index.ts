/** Load tests: templates, runs, what they measured. */

export type { RunComparison } from "./core/compare-runs.ts";
export { findMaxAnswer } from "./core/find-max.ts";
export { queryKinds } from "./core/operation.ts";
export { formatHgrm } from "./core/report/format-hgrm.ts";
export { formatHtmlReport } from "./core/report/format-html-report.ts";
export { formatJunit } from "./core/report/format-junit.ts";
export { type SummarizedRun, summarizeRun } from "./core/report/summarize-run.ts";
export { isTerminal, runPhases, runStatuses } from "./core/run-state.ts";
export type { RunUpdate } from "./core/run-update.ts";
export { enrichmentColumns, enrichmentTable } from "./executions/enrichment-table.ts";
export { createLakeRunRecords } from "./executions/lake-run-records.ts";
export { ProcessHost } from "./host/process-host.ts";
export { createLocalSpawner } from "./orchestrator/create-local-spawner.ts";
export { HostSpawner } from "./orchestrator/host-spawner.ts";
export { RunOrchestrator } from "./orchestrator/run-orchestrator.ts";
export { LoadService, type RunRequest } from "./service/load-service.ts";
export { checkAllowedEnvs } from "./service/password-env.ts";
export { createLoadRelations } from "./service/sql-relations.ts";
export { ProcessStore } from "./store/process-store.ts";
export {
  type StartTargetProcess,
  type TargetAnswer,
  type TargetOpen,
  type TargetRequest,
  targetScriptBytes,
} from "./targets/bounded/messages.ts";
export { openTarget } from "./targets/open-target.ts";
export { createTargetFiles, type TargetFiles } from "./targets/target-files.ts";
export { readTemplate } from "./templates/parse-template.ts";
export { TemplateStore } from "./templates/store/template-store.ts";
export { splitSecret } from "./templates/target-url.ts";
export { formatTemplateYaml, readTemplateText } from "./templates/template-yaml.ts";
