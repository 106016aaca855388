/** The HTTP surface: routes, errors, access and limits. */

export { decideReadiness } from "./cluster/readiness.ts";
export { createStatus } from "./cluster/status.ts";
export { createWorkersPort } from "./cluster/workers-port.ts";
export type { ApiPorts, WorkersPort } from "./ports.ts";
export type { LiveBody, PartBody, ReadyBody, StatusBody, WorkerBody } from "./schemas.ts";
export { type ApiConfig, startApi } from "./server.ts";
