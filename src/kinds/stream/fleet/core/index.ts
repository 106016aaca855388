/** The fleet for other cores. */
export type {
  CommandTarget,
  EdgeStatistics,
  FragmentError,
  FragmentReport,
  FragmentStatistics,
  PeerStatistics,
  RunStatistics,
  StopMode,
  StreamCommand,
  StreamReport,
} from "./commands.ts";
export { factKeyOf, parseFactKey } from "./commands.ts";
export type { FleetEvents, FleetPort } from "./fleet-port.ts";
export { FragmentKeeper } from "./fragment-keeper.ts";
export type { KeeperEffect, KeeperEvent } from "./keeper-events.ts";
export { type FleetLimits, fleetLimits } from "./query-view.ts";
