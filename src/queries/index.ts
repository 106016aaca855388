/** Interactive execution: work managers, artifacts, the DuckDB engine. */
export {
  type ApiQueryObserver,
  type ApiWorkLimits,
  ApiWorkManager,
  type ArtifactFetcher,
  type ArtifactSpool,
  type CleanupReason,
  defaultApiWorkLimits,
  type Executor,
  type LocalArtifact,
  type ProducedFile,
  type QueryHandle,
  type QueryObserver,
  type QueryOutcome,
  type QueryRecord,
  type QueryRequest,
  type SpooledFile,
  type SpoolSlot,
  type SpoolUsage,
  type WorkerQueryObserver,
  type WorkerWorkLimits,
  WorkerWorkManager,
  type WorkReporter,
} from "./core/index.ts";
export {
  type Engine,
  type EngineOptions,
  type RowStream,
  startEngine,
} from "./duckdb/engine.ts";
export { createSqlExecutor } from "./duckdb/sql-executor.ts";
export {
  type FsArtifactSpool,
  type FsSpoolOptions,
  openFsArtifactSpool,
} from "./fs/fs-artifact-spool.ts";
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
export { type RunSqlDeps, type RunSqlOptions, runSql, type SqlResult } from "./sql/run-sql.ts";
