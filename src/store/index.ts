/** The control store: transactions on SQLite or Postgres, the change log, the coordinator's lease. */
export {
  type CatalogChange,
  type CatalogTx,
  type ControlSchema,
  decideWatchEvent,
  isWatchedTable,
  type LeaseGrant,
  parseWatchSelect,
  type Store,
  type Tx,
  type WatchCondition,
  type WatchEvent,
  type WatchedTable,
  type WatchRow,
  type WatchSelect,
  type WorkersTable,
  watchedTables,
} from "./core/index.ts";
export { LeaseKeeper, type LeaseKeeperOptions, type LeaseListener } from "./lease/lease-keeper.ts";
export type { LeaseView } from "./lease/lease-statements.ts";
export { readLease } from "./lease/read-lease.ts";
export {
  openStore,
  type PostgresStoreConfig,
  parseStoreUrl,
  readSchemaVersion,
  type SqliteStoreConfig,
  type StoreConfig,
  type StoreLocation,
  setupStore,
} from "./setup/open-store.ts";
export { createSharedSqlite, openSimStore, type SharedSqlite } from "./sqlite/sim-store.ts";
export { type WatchOptions, watch } from "./watch/watch.ts";
