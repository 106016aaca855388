export type { Discovery, Target } from "./discovery.ts";
export type {
  Admission,
  ControllerFrame,
  ControllerRole,
  Envelope,
  WorkerFrame,
} from "./frames.ts";
export type { AcceptLink, Dialer, Link, LinkHandlers, WorkerAddress } from "./link.ts";
export type { DisconnectCause, SessionObserver } from "./session-observer.ts";
export type { SessionPoolOptions } from "./session-pool.ts";
export { SessionPool } from "./session-pool.ts";
export type { SessionTiming } from "./session-timing.ts";
export { defaultSessionTiming } from "./session-timing.ts";
export type { LiveSession, SessionView } from "./session-view.ts";
export type { ChannelOffer } from "./versions.ts";
export { protocolVersions } from "./versions.ts";
export type { EndpointSession, WorkerChannel, WorkerEndpointOptions } from "./worker-endpoint.ts";
export { WorkerEndpoint } from "./worker-endpoint.ts";
export type { WorkerListener, WorkerPool } from "./worker-pool.ts";
