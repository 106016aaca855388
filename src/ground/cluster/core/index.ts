export type { Discovery, Target } from "./discovery.ts";
export type {
  Admission,
  ChannelFrame,
  ControllerFrame,
  ControllerRole,
  Envelope,
  Facts,
  FactsDelta,
  GoodbyeReason,
  RefusalReason,
  WorkerFrame,
} from "./frames.ts";
export type { AcceptLink, Dialer, Link, LinkHandlers, WorkerAddress } from "./link.ts";
export type { DisconnectCause, SessionObserver } from "./session-observer.ts";
export type { SessionPoolOptions } from "./session-pool.ts";
export { SessionPool } from "./session-pool.ts";
export type { SessionTiming } from "./session-timing.ts";
export { defaultSessionTiming } from "./session-timing.ts";
export type { LiveSession, SessionState, SessionView } from "./session-view.ts";
export type { ChannelOffer, Channels, Versions } from "./versions.ts";
export { protocolVersions } from "./versions.ts";
export type { EndpointSession, WorkerChannel, WorkerEndpointOptions } from "./worker-endpoint.ts";
export { WorkerEndpoint } from "./worker-endpoint.ts";
export type { WorkerListener, WorkerPool, WorkerUp } from "./worker-pool.ts";
