/** The fleet for other cores. */
export type {
  EdgeStatistics,
  FragmentError,
  FragmentReport,
  FragmentStatistics,
  RunStatistics,
  StopMode,
  StreamCommand,
  StreamReport,
} from "./commands.ts";

export type { FleetPort } from "./fleet-port.ts";
export { FragmentKeeper } from "./fragment-keeper.ts";
export type { KeeperEffect, KeeperEvent } from "./keeper-events.ts";
export { RecentRows } from "./recent-rows.ts";
export { WorkerStatisticsRows, workerResourcesRow } from "./worker-rows.ts";
