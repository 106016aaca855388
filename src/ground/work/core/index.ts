export {
  type ApiWorkLimits,
  ApiWorkManager,
  type ApiWorkManagerOptions,
  defaultApiWorkLimits,
  type QueryCounts,
  type QueryHandle,
} from "./api-work-manager.ts";
export {
  type Artifact,
  affinityScore,
  type BoardEffect,
  type BoardEvent,
  type HeldId,
  hashText,
  type LedgerEffect,
  type LedgerEvent,
  type RejectReason,
  WorkBoard,
  type WorkCommand,
  type WorkKey,
  type WorkReport,
  type WorkSpec,
  workKeyText,
  workLogFields,
} from "./assignment/index.ts";
export {
  type DiskAdmission,
  DiskBudget,
  type DiskBudgetLimits,
  type DiskTenant,
  type DiskUsage,
  defaultDiskRatios,
  type Eviction,
} from "./disk-budget.ts";
export { dispatchByKind } from "./dispatch-by-kind.ts";
export type { Completion, QueryRecord, QueryRequest } from "./live-query.ts";
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
  type WorkResult,
} from "./ports.ts";
export type {
  ApiQueryObserver,
  CleanupReason,
  QueryOutcome,
  WorkerQueryObserver,
} from "./query-observer.ts";
export { combineQueues, type QueueState, queueOfFacts } from "./queue-state.ts";
export {
  type WorkerCounts,
  type WorkerWorkLimits,
  WorkerWorkManager,
  type WorkerWorkManagerOptions,
} from "./worker-work-manager.ts";
