import type { ProcessOptions } from "../ground/process/index.ts";
import type { LoadHostOptions } from "../kinds/load/index.ts";
import type { RefreshWorkerOptions } from "../kinds/refresh/index.ts";
import type { StreamWorkerPartOptions } from "../kinds/stream/index.ts";
/** What the command line gives to a worker. */
export interface WorkerOptions
  extends ProcessOptions,
    RefreshWorkerOptions,
    LoadHostOptions,
    StreamWorkerPartOptions {
  readonly join?: readonly string[];
  readonly name?: string;
  readonly advertiseHost?: string;
  readonly grpcPort: number;
  readonly dataPort: number;
  readonly metricsPort: number;
  readonly slots?: number;
  /** The cores that this worker may count on. Defaults to those of the machine. */
  readonly computeThreads?: number;
  /** The limit of this process and its descendants, in bytes. */
  readonly memoryLimit?: number;
  readonly columnCache?: number;
  /** Where tables are; metrics too, unless `metricsDir` is given or this is not a directory. */
  readonly lake?: string;
  readonly metricsDir?: string;
  /**
   * Where refreshes are claimed and load workers requested. Default: the store in the data
   * directory, if there is one. Without a store this worker does neither.
   */
  readonly store?: string;
  readonly diskLimit?: number;
  readonly drainTimeout: number;
}
