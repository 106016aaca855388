/** Deploying continuous queries on workers: the coordinator's part and the worker's. */
export { CoordinatorStreams } from "./coordinator/coordinator-streams.ts";
export {
  createFleet,
  dataUrlOf,
  type StreamFleet,
  speaksStreams,
} from "./coordinator/create-fleet.ts";
export { serveStreams } from "./coordinator/serve-streams.ts";
export { liveRoutes } from "./http/live-routes.ts";
export { streamLoadRoutes } from "./http/load-routes.ts";
export { Previews } from "./preview/previews.ts";
export {
  sendReport,
  streamChannel,
  streamChannelOf,
  tellStates,
} from "./wire/stream-channel.ts";
export { CoordinatorRows } from "./worker/coordinator-rows.ts";
export { resolveSecrets } from "./worker/find-secret.ts";
export { leaveCluster } from "./worker/leave-cluster.ts";
export { OwnStreams } from "./worker/own-streams.ts";
export { createStateStorage } from "./worker/state-storage.ts";
export { StreamWorker } from "./worker/stream-worker.ts";
