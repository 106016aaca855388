/** Incremental refresh: which definitions allow it, its SQL, and when a full refresh is cheaper. */
export { type Bucketing, bucketSql, decideBuckets } from "./buckets.ts";
export { chooseMode, type ModeChoice } from "./choose-mode.ts";
export type { SourceSchema } from "./inline.ts";
export { type FullPlan, type IncrementalPlan, planIncremental, type Strategy } from "./plan.ts";
export {
  initialSql,
  type RefreshFacts,
  type RefreshNames,
  type RefreshSql,
  refreshSql,
} from "./refresh-sql.ts";
export {
  type ColumnType,
  duckdbSqlTool,
  type FunctionCatalog,
  type RunSql,
  type SqlTool,
} from "./sql-tool.ts";
