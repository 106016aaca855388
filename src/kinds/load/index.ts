/** Load tests: templates, runs, what they measured. */

import "./core/error-codes.ts";

export { createLoadPart, type LoadOptions } from "./coordinator/load-part.ts";
export type { SummarizedRun } from "./core/report/summarize-run.ts";
export type { RunUpdate } from "./core/run-update.ts";
export { LoadService } from "./service/load-service.ts";
export { openTarget } from "./targets/open-target.ts";
export { createTargetFiles } from "./targets/target-files.ts";
export { createLoadWorkerPart, type LoadHostOptions } from "./worker-part.ts";
