/** Dynamic tables: definitions, scheduling and claims in the store, the worker's loop. */

export { createRefreshPart, type RefreshOptions } from "./coordinator/refresh-part.ts";
export {
  type ClaimAnswer,
  type ClaimedRefresh,
  type ClaimKey,
  type DynamicTable,
  type PublishOutcome,
  type RefreshedData,
  type Refresher,
  RefreshLoop,
  type RefreshResult,
  type RefreshSource,
} from "./core/index.ts";
export { watchedRefreshTables } from "./core/tables.ts";
export { createLakeRefresher } from "./refresh/lake-refresher.ts";
export type { ClaimSettings } from "./store/claim-settings.ts";
export type { TableDefinition } from "./store/definitions.ts";
export { readFilledTables } from "./store/filled-tables.ts";
export { RefreshScheduler, type RefreshSchedulerOptions } from "./store/scheduler.ts";
export { StoreRefreshClaims } from "./store/store-refresh-claims.ts";
export { createRefreshWorkerPart, type RefreshWorkerOptions } from "./worker-part.ts";
