/**
 * Work on a pool of workers: its assignment, both managers, artifacts, the spool, the disk budget.
 */

export type { Artifact, RejectReason, WorkKey } from "./core/assignment/index.ts";
export {
  type ApiQueryObserver,
  type ApiWorkLimits,
  ApiWorkManager,
  type ArtifactFetcher,
  type ArtifactSpool,
  answerOf,
  type CleanupReason,
  combineQueues,
  DiskBudget,
  defaultDiskRatios,
  dispatchByKind,
  type Executor,
  type LocalArtifact,
  type ProducedFile,
  type QueryHandle,
  type QueryOutcome,
  type QueryRecord,
  type QueryRequest,
  type QueueState,
  type SpooledFile,
  type SpoolSlot,
  type SpoolUsage,
  type WorkerQueryObserver,
  type WorkerWorkLimits,
  WorkerWorkManager,
  type WorkReporter,
} from "./core/index.ts";
export { FactsReporter } from "./facts-reporter.ts";
export { type ColumnFiles, openColumnFiles } from "./fs/column-files.ts";
export { checksumOfBytes, checksumOfFile } from "./fs/file-checksum.ts";
export {
  type FsArtifactSpool,
  type FsSpoolOptions,
  openFsArtifactSpool,
} from "./fs/fs-artifact-spool.ts";
export { translateFsError } from "./fs/fs-error.ts";
export {
  type ArtifactServer,
  type ArtifactServerOptions,
  startArtifactServer,
} from "./http/artifact-server.ts";
export {
  createHttpArtifactFetcher,
  type HttpArtifactFetcher,
  type HttpFetcherOptions,
} from "./http/http-artifact-fetcher.ts";
export { isAbleTo } from "./node/able-to.ts";
export { ControllerNode } from "./node/controller-node.ts";
export { readHolderId } from "./node/holder-id.ts";
export { Leadership, leaseName } from "./node/leadership.ts";
export { tellHealth } from "./node/tell-health.ts";
export { waitingWork } from "./node/waiting-work.ts";
export { WorkerNode, type WorkerNodeOptions } from "./node/worker-node.ts";
export { type ProducedBytes, producedBytes } from "./produced-bytes.ts";
export {
  createApiQueryMetrics,
  createQueueMetrics,
  createWorkerQueryMetrics,
} from "./query-metrics.ts";
export { traceExecutor } from "./trace-executor.ts";
