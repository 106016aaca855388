/** Load tests: templates, runs, what they measured. */

import "./core/error-codes.ts";

export { createLoadPart, type LoadOptions } from "./coordinator/load-part.ts";
export type { RunComparison } from "./core/compare-runs.ts";
export type { SummarizedRun } from "./core/report/summarize-run.ts";
export type { RunUpdate } from "./core/run-update.ts";
export { LoadService, type RunRequest } from "./service/load-service.ts";
export { openTarget } from "./targets/open-target.ts";
export { createTargetFiles, type TargetFiles } from "./targets/target-files.ts";
export { createLoadWorkerPart, type LoadHostOptions } from "./worker-part.ts";
