import type { ProcessOptions } from "../ground/process/index.ts";
import type { OwnHeadSettings } from "../kinds/ask/index.ts";
import type { LoadOptions } from "../kinds/load/index.ts";
import type { RefreshOptions } from "../kinds/refresh/index.ts";
import type { StreamOptions } from "../kinds/stream/index.ts";
/** What the command line gives to a coordinator or a query-api. Times are in milliseconds. */
export interface ControllerOptions
  extends ProcessOptions,
    OwnHeadSettings,
    LoadOptions,
    RefreshOptions,
    StreamOptions {
  readonly role: "coordinator" | "query_api";
  readonly name: string;
  readonly port: number;
  readonly store?: string;
  readonly apiUrl?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly memoryLimit?: number;
  /** Where tables are; metrics too, unless `metricsDir` is given or this is not a directory. */
  readonly lake?: string;
  readonly metricsDir?: string;
  /** Limits as `name=value`. */
  readonly limit?: readonly string[];
  readonly drainTimeout: number;
  readonly discover: string;
}
