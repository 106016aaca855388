/** Deploying continuous queries on workers: the coordinator's part and the worker's. */
export { fleetOf, streamChannel } from "./wire/stream-channel.ts";
