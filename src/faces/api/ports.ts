/** What the HTTP surface needs from its process. A coordinator and a query-api each give their own. */

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
  /** Of the parts of this process. */
  readonly routes: readonly InstallRoutes[];
  /** Of the parts of this process, by what people call what they list. */
  readonly attention: Readonly<Record<string, ReadAttention>>;
  /** Why this process does not have all routes of the API; absent where it does. */
  readonly absent?: string;
  /** Everything that waits to be computed. */
  waiting(): QueueState;
  ready(): ReadyBody;
  status(): Promise<StatusBody>;
  /** In the format that an `Accept` header asks for. */
  metrics(
    accept: string | undefined,
  ): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Changes throw `not_leader` where another process holds the lease. */
export interface WorkersPort {
  /** At most `limit`, in the order of their names, after `after`. */
  list(page: {
    readonly limit: number;
    readonly after: string | undefined;
  }): Promise<readonly WorkerBody[]>;
  get(workerId: WorkerId): Promise<WorkerBody | undefined>;
  register(registration: RegistrationBody): Promise<void>;
  setDrainRequested(workerId: WorkerId, draining: boolean): Promise<void>;
  drop(workerId: WorkerId): Promise<void>;
}
