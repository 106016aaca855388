/** Incremental refresh: which definitions allow it, its SQL, and when a full refresh is cheaper. */
export { type Bucketing, bucketSql, decideBuckets } from "./buckets.ts";
export { chooseMode } from "./choose-mode.ts";
export type { SourceSchema } from "./inline.ts";
export { type FullPlan, type IncrementalPlan, planIncremental } from "./plan.ts";
export {
  initialSql,
  type RefreshNames,
  refreshSql,
} from "./refresh-sql.ts";
export { duckdbSqlTool } from "./sql-tool.ts";
