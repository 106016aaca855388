/** The fleet for other cores. */
export type {
  CommandTarget,
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
export { type FleetLimits, fleetLimits } from "./query-view.ts";
