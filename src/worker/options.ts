import type { ProcessOptions } from "../ground/process/index.ts";
import type { AskWorkerOptions } from "../kinds/ask/index.ts";
import type { LoadHostOptions } from "../kinds/load/index.ts";
import type { RefreshWorkerOptions } from "../kinds/refresh/index.ts";
/** What the command line gives to a worker. */
export interface WorkerOptions
  extends ProcessOptions,
    AskWorkerOptions,
    RefreshWorkerOptions,
    LoadHostOptions {
  readonly join?: readonly string[];
  readonly name?: string;
  readonly advertiseHost?: string;
  readonly grpcPort: number;
  readonly dataPort: number;
  readonly metricsPort: number;
  readonly slots?: number;
  /** Of this process and all that descend from it. */
  readonly memoryLimit?: number;
  readonly columnCache?: number;
  /** Of tables, and of metrics unless `metricsDir` says otherwise or it is no directory. */
  readonly lake?: string;
  readonly metricsDir?: string;
  /**
   * Where refreshes are claimed, and load workers asked for; the data directory's when absent and
   * there. Without one this worker does neither.
   */
  readonly store?: string;
  readonly diskLimit?: number;
  readonly drainTimeout: number;
}
