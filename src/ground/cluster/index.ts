export type {
  ChannelOffer,
  ControllerRole,
  Dialer,
  DisconnectCause,
  Discovery,
  EndpointSession,
  SessionObserver,
  SessionPoolOptions,
  SessionTiming,
  SessionView,
  WorkerChannel,
  WorkerEndpointOptions,
  WorkerPool,
} from "./core/index.ts";
export {
  defaultSessionTiming,
  protocolVersions,
  SessionPool,
  WorkerEndpoint,
} from "./core/index.ts";
export { parseDiscovery } from "./discovery/parse-discovery.ts";
export { staticDiscovery } from "./discovery/static-discovery.ts";
export { storeDiscovery } from "./discovery/store-discovery.ts";
export { startControlServer } from "./grpc/control-server.ts";
export { createGrpcDialer } from "./grpc/dialer.ts";
export { createSessionMetrics } from "./session-metrics.ts";
export { Membership } from "./store/membership.ts";
export type { WorkerRow } from "./store/worker-statements.ts";
export type { WorkerRegistration } from "./store/workers.ts";
export {
  cancelDrain,
  dropWorker,
  getWorker,
  listWorkers,
  registerWorker,
  registerWorkerIn,
  requestDrain,
} from "./store/workers.ts";
