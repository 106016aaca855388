/** PromQL for whoever serves it: the HTTP surface, tests. Every answer comes from workers. */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { Annotation, Matcher } from "../promql/core/index.ts";

export interface PromqlRequest {
  /** The query's name, where its caller has given it one. */
  readonly queryId?: QueryId | undefined;
  readonly query: string;
  /** One of the two. */
  readonly at:
    | { readonly timeMs: number }
    | { readonly startMs: number; readonly endMs: number; readonly stepMs: number };
  readonly timeoutMs?: number | undefined;
  /** Series in the answer; 0 or absent: all. */
  readonly limit?: number | undefined;
  readonly lookbackMs?: number | undefined;
  /** Ask for `stats` in the answer. */
  readonly stats?: boolean | undefined;
  readonly traceparent?: string | undefined;
}

/** The answer as Prometheus's API gives it: the whole JSON document, `{"status":"success","data":…}`. */
export interface PromqlAnswer {
  readonly queryId: QueryId;
  readonly json: Uint8Array;
  /** To be called when its reader has it, or is gone: until then it counts as memory. */
  sent?(): void;
}

/** In this order: results in time order, one summary, done. An error ends it instead. */
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
  /** For people: `sum by (job) (rate(http_requests_total[5m]))`. */
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

/** What a query would do. */
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
  /** The tree, indented. */
  readonly tree: string;
}

export interface SeriesRequest {
  /** As of a `PromqlRequest`. */
  readonly queryId?: QueryId | undefined;
  readonly matcherSets: readonly (readonly Matcher[])[];
  readonly startMs: number;
  readonly endMs: number;
  /** 0: all. One more than it is found: the answer is cut and `truncated`. */
  readonly limit: number;
}

/**
 * Throws `PromqlError` (the query), or `OperatingError`: `cancelled`, `deadline_exceeded`, `query_too_large`,
 * `overloaded` and what the work manager throws.
 */
export interface PromqlService {
  query(request: PromqlRequest, signal: AbortSignal): Promise<PromqlAnswer>;
  /** Rejects as long as nothing of the result is known. */
  stream(request: PromqlRequest, signal: AbortSignal): Promise<AsyncIterable<PromqlEvent>>;
  explain(request: PromqlRequest, signal: AbortSignal): Promise<PromqlExplanation>;
  /** `[{"name":"value",…},…]`, in the order of the labels. */
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
  /** As Prometheus's `/api/v1/parse_query` gives it. */
  parse(query: string, signal: AbortSignal): Promise<unknown>;
}

export type { Annotation };
