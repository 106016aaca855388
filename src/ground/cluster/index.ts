export type {
  AcceptLink,
  Admission,
  ChannelOffer,
  ControllerFrame,
  ControllerRole,
  Dialer,
  DisconnectCause,
  Discovery,
  EndpointSession,
  Envelope,
  Facts,
  Link,
  LinkHandlers,
  LiveSession,
  SessionObserver,
  SessionPoolOptions,
  SessionTiming,
  SessionView,
  Target,
  WorkerAddress,
  WorkerChannel,
  WorkerEndpointOptions,
  WorkerFrame,
  WorkerListener,
  WorkerPool,
  WorkerUp,
} from "./core/index.ts";
export {
  defaultSessionTiming,
  SessionPool,
  WorkerEndpoint,
} from "./core/index.ts";
export type { DnsDiscoveryOptions, DnsResolver } from "./discovery/dns-discovery.ts";
export { parseDiscovery } from "./discovery/parse-discovery.ts";
export { staticDiscovery } from "./discovery/static-discovery.ts";
export type { StoreDiscoveryOptions } from "./discovery/store-discovery.ts";
export { storeDiscovery } from "./discovery/store-discovery.ts";
export type { ControlServer, ControlServerOptions, ServerTls } from "./grpc/control-server.ts";
export { startControlServer } from "./grpc/control-server.ts";
export type { DialerTls, GrpcDialerOptions } from "./grpc/dialer.ts";
export { createGrpcDialer } from "./grpc/dialer.ts";
export { createSessionMetrics } from "./session-metrics.ts";
export type { MembershipOptions, MembershipPool } from "./store/membership.ts";
export { Membership } from "./store/membership.ts";
export type { WorkerRow } from "./store/worker-statements.ts";
export type { WorkerPage, WorkerRegistration } from "./store/workers.ts";
export {
  cancelDrain,
  dropWorker,
  getWorker,
  listWorkers,
  registerWorker,
  requestDrain,
} from "./store/workers.ts";
