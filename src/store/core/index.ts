/** The store as other cores see it: types and pure functions. */

export { parseWatchSelect } from "./parse-watch-select.ts";
export {
  type ControlSchema,
  type CoordinatorLeasesTable,
  isWatchedTable,
  tableColumns,
  type WatchedTable,
  type WorkersTable,
  watchedTables,
} from "./schema.ts";
export type { CatalogChange, CatalogTx, LeaseGrant, Store, Tx } from "./store.ts";
export { decideWatchEvent, type WatchEvent } from "./watch-event.ts";
export type { WatchCondition, WatchRow, WatchSelect, WatchValue } from "./watch-select.ts";
