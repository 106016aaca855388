/**
 * Work on a pool of workers: its assignment, both managers, artifacts, the spool, the disk budget.
 */

export {
  ApiWorkManager,
  answerOf,
  combineQueues,
  DiskBudget,
  defaultDiskRatios,
  dispatchByKind,
  type Executor,
  type QueryRecord,
  type QueueState,
  WorkerWorkManager,
} from "./core/index.ts";
export { FactsReporter } from "./facts-reporter.ts";
export { type ColumnFiles, openColumnFiles } from "./fs/column-files.ts";
export { checksumOfBytes, checksumOfFile } from "./fs/file-checksum.ts";
export {
  type FsArtifactSpool,
  openFsArtifactSpool,
} from "./fs/fs-artifact-spool.ts";
export { translateFsError } from "./fs/fs-error.ts";
export {
  type ArtifactServer,
  startArtifactServer,
} from "./http/artifact-server.ts";
export {
  createHttpArtifactFetcher,
  type HttpArtifactFetcher,
} from "./http/http-artifact-fetcher.ts";
export type { Http2Handler } from "./http/http2-beside.ts";
export { isAbleTo } from "./node/able-to.ts";
export { ControllerNode } from "./node/controller-node.ts";
export { readHolderId } from "./node/holder-id.ts";
export { Leadership, leaseName } from "./node/leadership.ts";
export { tellHealth } from "./node/tell-health.ts";
export { waitingWork } from "./node/waiting-work.ts";
export { WorkerNode, type WorkerNodeOptions } from "./node/worker-node.ts";
export { producedBytes } from "./produced-bytes.ts";
export {
  createApiQueryMetrics,
  createQueueMetrics,
  createWorkerQueryMetrics,
} from "./query-metrics.ts";
export { traceExecutor } from "./trace-executor.ts";
