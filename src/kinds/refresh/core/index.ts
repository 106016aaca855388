/** Dynamic tables for other rooms: model, graph, scheduling decisions, claim protocol. */
export {
  decideRefreshes,
  defaultScheduleOptions,
  type ScheduleOptions,
} from "./decide-refreshes.ts";
export { decideReplacementRefusal, type NamedColumn } from "./decide-replacement.ts";
export { dueAtMs, effectiveLagMs, freshAtMs } from "./due-time.ts";
export { type GraphNode, TableGraph } from "./graph.ts";
export { type LagPoint, lagOverTime } from "./lag-over-time.ts";
export type {
  DynamicTable,
  RefreshAction,
  RefreshCost,
  RefreshMode,
  RefreshRecord,
  RefreshState,
  TableStatus,
  TargetLag,
} from "./model.ts";
export {
  type DynamicStatement,
  dynamicHeads,
  parseDynamicStatement,
} from "./parse-statement.ts";
export type {
  ClaimAnswer,
  ClaimedRefresh,
  ClaimKey,
  ClaimRequest,
  PublishOutcome,
  RefreshClaims,
  RefreshedData,
  Refresher,
  RefreshFailure,
  RefreshResult,
  RefreshSource,
} from "./refresh-claims.ts";
export { RefreshLoop, type RefreshLoopOptions } from "./refresh-loop.ts";
export type {
  ClaimedSubtask,
  PartResult,
  RefreshSplit,
  SplitProgress,
  SubtaskClaims,
  SubtaskKey,
  SubtaskRunner,
} from "./refresh-subtasks.ts";
export {
  type FailingTable,
  priorities,
  type RefreshTrigger,
  type ScheduleDecision,
  type ScheduledPending,
  type ScheduledTable,
  type ScheduledTarget,
  type ScheduleState,
} from "./schedule-state.ts";
export { formatTableName } from "./table-name.ts";
