export {
  type ApiWorkLimits,
  ApiWorkManager,
  defaultApiWorkLimits,
  type QueryHandle,
} from "./api-work-manager.ts";
export {
  type Artifact,
  affinityScore,
  type BoardEffect,
  type BoardEvent,
  hashText,
  WorkBoard,
  type WorkCommand,
  type WorkKey,
  type WorkReport,
  type WorkSpec,
  workKeyText,
  workLogFields,
} from "./assignment/index.ts";
export {
  DiskBudget,
  defaultDiskRatios,
  type Eviction,
} from "./disk-budget.ts";
export { dispatchByKind } from "./dispatch-by-kind.ts";
export type { QueryRecord } from "./live-query.ts";
export {
  type ArtifactFetcher,
  type ArtifactSpool,
  answerOf,
  artifactOf,
  artifactSchemaVersion,
  type Executor,
  ExecutorBroken,
  type LocalArtifact,
  type ProducedFile,
  type SpooledFile,
  type SpoolSlot,
  type SpoolUsage,
  type WorkPool,
  type WorkPoolEvent,
  type WorkReporter,
} from "./ports.ts";
export type {
  ApiQueryObserver,
  WorkerQueryObserver,
} from "./query-observer.ts";
export { combineQueues, type QueueState, queueOfFacts } from "./queue-state.ts";
export {
  type WorkerCounts,
  type WorkerWorkLimits,
  WorkerWorkManager,
} from "./worker-work-manager.ts";
