/** The interface of PromQL for the HTTP API and tests. Every answer comes from workers. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Matcher } from "../promql/core/index.ts";

export interface PromqlRequest {
  /** The query's name, when its caller has given it one. */
  readonly queryId?: QueryId | undefined;
  readonly query: string;
  /** The time of an instant query, or the range of a range query. */
  readonly at:
    | { readonly timeMs: number }
    | { readonly startMs: number; readonly endMs: number; readonly stepMs: number };
  readonly timeoutMs?: number | undefined;
  /** The maximum number of series in the answer; 0 or absent means no limit. */
  readonly limit?: number | undefined;
  readonly lookbackMs?: number | undefined;
  /** Whether the answer has `stats`. */
  readonly stats?: boolean | undefined;
  readonly traceparent?: string | undefined;
}

/**
 * The answer in the format of Prometheus's API: the whole JSON, `{"status":"success","data":…}`.
 */
export interface PromqlAnswer {
  readonly queryId: QueryId;
  readonly json: Uint8Array;
  /** Call it when the reader has the answer or is gone: until then the answer counts as memory. */
  sent?(): void;
}

/** The order is: results in time order, one summary, `done`. An error ends the stream instead. */
export type PromqlEvent =
  | { readonly event: "result"; readonly json: string }
  | { readonly event: "summary"; readonly summary: QuerySummary }
  | { readonly event: "error"; readonly errorType: string; readonly error: string }
  | { readonly event: "done" };

export interface QuerySummary {
  readonly queryId: QueryId;
  readonly resultType: string;
  readonly seriesCount: number;
  readonly pointCount: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly stages: Readonly<
    Record<
      "planMs" | "queueMs" | "workMs" | "fetchMs" | "evalMs" | "totalMs" | "firstResultMs",
      number
    >
  >;
  readonly leaves: readonly LeafSummary[];
}

export interface LeafSummary {
  /** Readable text: `sum by (job) (rate(http_requests_total[5m]))`. */
  readonly text: string;
  readonly output: "raw" | "steps" | "partials";
  readonly segmentCount: number;
  readonly fromHead: boolean;
  readonly works: readonly {
    readonly shard: number;
    readonly workerId: string | undefined;
    readonly attempts: number;
    readonly samples: number;
    readonly series: number;
    readonly artifactBytes: number;
    readonly workMs: number;
  }[];
}

/** What a query would do if it ran. */
export interface PromqlExplanation {
  readonly resultType: string;
  readonly formatted: string;
  readonly leaves: readonly {
    readonly text: string;
    readonly output: "raw" | "steps" | "partials";
    readonly why: string;
    readonly shardCount: number;
    readonly segmentCount: number;
    readonly fromHead: boolean;
    readonly samplesEstimate: number;
  }[];
  /** The plan's tree, indented. */
  readonly tree: string;
}

export interface SeriesRequest {
  /** The same as in `PromqlRequest`. */
  readonly queryId?: QueryId | undefined;
  readonly matcherSets: readonly (readonly Matcher[])[];
  readonly startMs: number;
  readonly endMs: number;
  /** 0 means no limit. A longer list is cut at the limit and marked as `truncated`. */
  readonly limit: number;
}

/**
 * Throws `PromqlError` for a faulty query, or `OperatingError`: `cancelled`, `deadline_exceeded`,
 * `query_too_large`, `overloaded`, and the errors of the work manager.
 */
export interface PromqlService {
  query(request: PromqlRequest, signal: AbortSignal): Promise<PromqlAnswer>;
  /** Rejects when the query fails before its first result. */
  stream(request: PromqlRequest, signal: AbortSignal): Promise<AsyncIterable<PromqlEvent>>;
  explain(request: PromqlRequest, signal: AbortSignal): Promise<PromqlExplanation>;
  /** `[{"name":"value",…},…]`, in label order. */
  series(
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<{
    readonly json: Uint8Array;
    readonly truncated: boolean;
    readonly warnings?: readonly string[];
  }>;
  labelNames(
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<{
    readonly names: readonly string[];
    readonly truncated: boolean;
    readonly warnings?: readonly string[];
  }>;
  labelValues(
    name: string,
    request: SeriesRequest,
    signal: AbortSignal,
  ): Promise<{
    readonly values: readonly string[];
    readonly truncated: boolean;
    readonly warnings?: readonly string[];
  }>;
  /** Throws `PromqlError`. */
  format(query: string, signal: AbortSignal): Promise<string>;
  /** The format of Prometheus's `/api/v1/parse_query`. */
  parse(query: string, signal: AbortSignal): Promise<unknown>;
}
