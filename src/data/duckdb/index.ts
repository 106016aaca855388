/** DuckDB as an engine in child processes: statements, sessions, artifacts, values as JSON. */
export { BoundedProcess, type BoundedProcessOptions } from "./bounded-process.ts";
export type { EngineObserver } from "./core/index.ts";
export { duckdbVersion } from "./duckdb-version.ts";
export {
  type Engine,
  type EngineFor,
  type EngineOptions,
  type EngineSession,
  type RowStream,
  startEngine,
} from "./engine.ts";
export { createEngineMetrics } from "./engine-metrics.ts";
export {
  type RowsWork,
  type RunSqlDeps,
  type RunSqlOptions,
  runRows,
  runSql,
  type SqlResult,
} from "./run-sql.ts";
export { createSqlExecutor, sqlWorkKind } from "./sql-executor.ts";
