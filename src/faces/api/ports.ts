/** What the HTTP surface needs from its process, a coordinator or a query-api. */

import type { QueriesPort } from "../../data/statements/index.ts";
import type { InstallRoutes, ReadAttention } from "../../ground/http/index.ts";
import type { Clock } from "../../ground/kernel/clock.ts";
import type { WorkerId } from "../../ground/kernel/ids.ts";
import type { Logger } from "../../ground/kernel/logger.ts";
import type { QueueState } from "../../ground/work/index.ts";
import type { ReadyBody, RegistrationBody, StatusBody, WorkerBody } from "./schemas.ts";

export interface ApiPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workers: WorkersPort;
  readonly queries: Pick<QueriesPort, "list">;
  /** The routes of this process's parts. */
  readonly routes: readonly InstallRoutes[];
  /** The attention lists of this process's parts, by their names for people. */
  readonly attention: Readonly<Record<string, ReadAttention>>;
  /** Why this process lacks some routes of the API. Absent when it has all. */
  readonly absent?: string;
  /** All queued work. */
  waiting(): QueueState;
  ready(): ReadyBody;
  status(): Promise<StatusBody>;
  /** The metrics in the format that the `Accept` header asks for. */
  metrics(
    accept: string | undefined,
  ): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Changes throw `not_leader` where another process holds the lease. */
export interface WorkersPort {
  /** At most `limit` workers in the order of their names, after `after`. */
  list(page: {
    readonly limit: number;
    readonly after: string | undefined;
  }): Promise<readonly WorkerBody[]>;
  get(workerId: WorkerId): Promise<WorkerBody | undefined>;
  register(registration: RegistrationBody): Promise<void>;
  setDrainRequested(workerId: WorkerId, draining: boolean): Promise<void>;
  drop(workerId: WorkerId): Promise<void>;
}
