/** What routes get of the server that they are part of. */
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import type { Limits } from "../process/index.ts";
import type { ApiApp } from "./api-app.ts";
import type { Streams } from "./streams.ts";

export interface HttpContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly prng: Prng;
  readonly version: string;
  readonly limits: Limits;
  readonly streams: Streams;
}

/** Adds the routes of one room to the server, before it listens. */
export type InstallRoutes = (app: ApiApp, http: HttpContext) => void | Promise<void>;
