/** DuckDB as an engine in child processes: statements, sessions, artifacts, values as JSON. */
export { BoundedProcess } from "./bounded-process.ts";
export { duckdbVersion } from "./duckdb-version.ts";
export {
  type Engine,
  type EngineFor,
  type EngineSession,
  startEngine,
} from "./engine.ts";
export { createEngineMetrics } from "./engine-metrics.ts";
export {
  runRows,
  runSql,
} from "./run-sql.ts";
export { createSqlExecutor, sqlWorkKind } from "./sql-executor.ts";
