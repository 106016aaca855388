/** The parts of continuous queries; a planted bug puts another in the place of one. */
import type { WorkerPool } from "../../src/ground/cluster/index.ts";
import { StreamCatalog } from "../../src/kinds/stream/catalog/index.ts";
import { WatchedHost } from "./watched-host.ts";

export interface StreamSeams {
  readonly StreamCatalog: typeof StreamCatalog;
  readonly Host: typeof WatchedHost;
  /** What coordinators hear of workers, and tell them. */
  pool(pool: WorkerPool): WorkerPool;
}

export const productionStreamSeams: StreamSeams = {
  StreamCatalog,
  Host: WatchedHost,
  pool: (pool) => pool,
};
