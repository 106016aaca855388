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
export { type LoggedChange, queryEventOf } from "./query-event.ts";
export { RecentRows } from "./recent-rows.ts";
export { askedRowsOf, type StreamsAnswer, streamsPath } from "./streams-request.ts";
export { WorkerStatisticsRows, workerResourcesRow } from "./worker-rows.ts";
