/** Dynamic tables: definitions, scheduling and claims in the store, the worker's loop. */

export { createRefreshPart, type RefreshOptions } from "./coordinator/refresh-part.ts";
export {
  type ClaimAnswer,
  type ClaimedRefresh,
  type ClaimKey,
  type DynamicTable,
  type LagPoint,
  type PublishOutcome,
  type RefreshClaims,
  type RefreshedData,
  type Refresher,
  type RefreshFailure,
  RefreshLoop,
  type RefreshLoopOptions,
  type RefreshResult,
  type RefreshSource,
  type ScheduleOptions,
} from "./core/index.ts";
export { watchedRefreshTables } from "./core/tables.ts";
export { createLakeRefresher } from "./refresh/lake-refresher.ts";
export type { ClaimSettings } from "./store/claim-settings.ts";
export type { ModeChoice, ReplacedColumns, TableDefinition } from "./store/definitions.ts";
export type { NeededSnapshot, SnapshotPins } from "./store/needed-snapshots.ts";
export type { RefreshBacklog, TableOverview } from "./store/overview.ts";
export type { HistoryRequest, RefreshHistoryRecord } from "./store/refresh-history.ts";
export { RefreshScheduler, type RefreshSchedulerOptions } from "./store/scheduler.ts";
export type { SourceChanges } from "./store/source-changes.ts";
export { StoreRefreshClaims } from "./store/store-refresh-claims.ts";
export { createRefreshWorkerPart, type RefreshWorkerOptions } from "./worker-part.ts";
