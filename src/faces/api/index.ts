/** The HTTP surface: routes, errors, access and limits. */

export { decideReadiness } from "./cluster/readiness.ts";
export { createStatus } from "./cluster/status.ts";
export { createWorkersPort } from "./cluster/workers-port.ts";
export type { ReadyBody, StatusBody, WorkerBody } from "./schemas.ts";
export { type ApiConfig, startApi } from "./server.ts";
