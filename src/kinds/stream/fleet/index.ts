/** Deploying continuous queries on workers: the coordinator's part and the worker's. */
export { createFleet, type FleetOptions, type StreamFleet } from "./coordinator/create-fleet.ts";
export { fleetOf, streamChannel } from "./wire/stream-channel.ts";
