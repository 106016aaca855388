/** Interactive execution: work managers, artifacts, the DuckDB engine. */
export {
  type ApiQueryObserver,
  type ApiWorkLimits,
  ApiWorkManager,
  type ArtifactFetcher,
  type ArtifactSpool,
  type CleanupReason,
  combineQueues,
  DiskBudget,
  defaultApiWorkLimits,
  defaultDiskRatios,
  dispatchByKind,
  type EngineObserver,
  type Executor,
  type LocalArtifact,
  type ProcessMemory,
  type ProducedFile,
  promqlBytesOf,
  type QueryHandle,
  type QueryObserver,
  type QueryOutcome,
  type QueryRecord,
  type QueryRequest,
  type QueueState,
  queryMemoryOf,
  queueOfFacts,
  type SpooledFile,
  type SpoolSlot,
  type SpoolUsage,
  type WorkerQueryObserver,
  type WorkerWorkLimits,
  WorkerWorkManager,
  type WorkReporter,
  withoutPaths,
} from "./core/index.ts";
export { promqlWorkKind } from "./core/promql/work-body.ts";
export { BoundedProcess, type BoundedProcessOptions } from "./duckdb/bounded-process.ts";
export { duckdbVersion } from "./duckdb/duckdb-version.ts";
export {
  type Engine,
  type EngineFor,
  type EngineOptions,
  type EngineSession,
  type RowStream,
  startEngine,
} from "./duckdb/engine.ts";
export { createSqlExecutor, sqlWorkKind } from "./duckdb/sql-executor.ts";
export { writeArtifactBytes } from "./duckdb/write-artifact-bytes.ts";
export { type ColumnFiles, openColumnFiles } from "./fs/column-files.ts";
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
export type { TlsFiles } from "./http/tls.ts";
export type { ComputeUsage } from "./promql/compute-messages.ts";
export {
  createPromqlService,
  type StartedPromqlService,
} from "./promql/create-promql-service.ts";
export { floatText } from "./promql/json-sink.ts";
export { decodeList, encodeList } from "./promql/list-artifact.ts";
export {
  createPromqlExecutor,
  type PromqlExecutor,
  type PromqlExecutorObserver,
  type PromqlExecutorOptions,
} from "./promql/promql-executor.ts";
export type {
  PromqlAnswer,
  PromqlEvent,
  PromqlExplanation,
  PromqlRequest,
  PromqlService,
  QuerySummary,
  SeriesRequest,
} from "./promql/promql-service.ts";
export { createRemoteHead, type RemoteHead } from "./promql/remote-head.ts";
export type {
  PromqlLimits,
  PromqlObserver,
  PromqlServiceDeps,
  SegmentSource,
} from "./promql/service-options.ts";
export {
  type RowsWork,
  type RunSqlDeps,
  type RunSqlOptions,
  runRows,
  runSql,
  type SqlResult,
} from "./sql/run-sql.ts";
