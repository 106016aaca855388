/** The store as other cores see it: types and pure functions. */
export { isNullable, type LakeTables, lakeTableColumns } from "./lake-schema.ts";
export type { LoadTables } from "./load-schema.ts";
export { parseWatchSelect } from "./parse-watch-select.ts";
export type {
  DynamicTablesTable,
  PendingRefreshesTable,
  RefreshHistoryTable,
} from "./refresh-schema.ts";
export {
  isWatchedTable,
  type MetricSegmentsTable,
  type WorkersTable,
  watchedTables,
} from "./schema.ts";
export type { CatalogTx, LeaseGrant, Store, Tx } from "./store.ts";
export type { WatchEvent } from "./watch-event.ts";
export type { WatchCondition, WatchSelect } from "./watch-select.ts";
