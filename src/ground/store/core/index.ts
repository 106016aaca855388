/** The store for other cores: types and pure functions. */
export {
  ownWatchedTables,
  type WatchedColumns,
  type WatchedTables,
  type WorkersTable,
  watchedColumns,
} from "./schema.ts";
export type { CatalogTx, LeaseGrant, Store, Tx } from "./store.ts";
export { columnTypesOf, type TablesOf } from "./table-cells.ts";
export type { WatchEvent } from "./watch-event.ts";
export type { ComparisonOp, WatchCondition, WatchSelect } from "./watch-select.ts";
