/**
 * The control store: transactions on SQLite or Postgres, the change log, the coordinator's lease.
 */

export { awaitState } from "./await-state.ts";
export { dropHold, isHeld, keepHold } from "./catalog/upkeep-holds.ts";
export type {
  CatalogTx,
  LeaseGrant,
  Store,
  Tx,
  WatchCondition,
  WatchEvent,
  WatchedTables,
  WatchSelect,
  WorkersTable,
} from "./core/index.ts";
export { confirmLease } from "./lease/confirm-lease.ts";
export { LeaseKeeper } from "./lease/lease-keeper.ts";
export { readLease } from "./lease/read-lease.ts";
export { StepDown } from "./lease/step-down.ts";
export { readMigrations } from "./setup/migrations.ts";
export {
  openStore,
  parseStoreUrl,
  readSchemaVersion,
  type StoreConfig,
  setupStore,
} from "./setup/open-store.ts";
export { storeTables } from "./setup/store-tables.ts";
export { createSharedSqlite, openSimStore, type SharedSqlite } from "./sqlite/sim-store.ts";
export { type WatchOptions, watch } from "./watch/watch.ts";
