/** The store as other cores see it: types and pure functions. */
export { parseWatchSelect } from "./parse-watch-select.ts";
export type { WatchedTables, WorkersTable } from "./schema.ts";
export type { CatalogTx, LeaseGrant, Store, Tx } from "./store.ts";
export { columnTypesOf, type TablesOf } from "./table-cells.ts";
export type { WatchEvent } from "./watch-event.ts";
export type { WatchCondition, WatchSelect } from "./watch-select.ts";
