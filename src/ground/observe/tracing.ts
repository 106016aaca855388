/**
 * Spans for queries and works, sent by OTLP over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT. Without that
 * variable nothing is loaded or done.
 */
import type { QueryId } from "../kernel/ids.ts";

export interface QuerySpan {
  /** Idempotent. `error` is what the caller was told. */
  end(error?: { readonly code: string; readonly message: string }): void;
}

/** The fields of a work that name its span. */
export interface TracedWork {
  readonly queryId: QueryId;
  readonly leafId: string;
  readonly workId: string;
  readonly kind: string;
}

export interface WorkSpan extends QuerySpan {
  produced(rowCount: number, sizeBytes: number): void;
}

export interface Tracing {
  /** The query's own trace links to the caller's, given by `traceparent`. */
  startQuery(queryId: QueryId, kind: string, traceparent: string | undefined): QuerySpan;
  /** Starts a span for a work, in its query's trace. */
  startWork(work: TracedWork): WorkSpan;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

const silentSpan: QuerySpan = { end: () => undefined };

export const silentTracing: Tracing = {
  startQuery: () => silentSpan,
  startWork: () => ({ ...silentSpan, produced: () => undefined }),
  close: async () => undefined,
};

export interface TracingConfig {
  /** `capstan-coordinator`, `capstan-worker`; OTEL_SERVICE_NAME overrides it. */
  readonly serviceName: string;
  /** `worker-1`. */
  readonly instance: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export async function startTracing(config: TracingConfig): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } =
    config.env;
  if ((all ?? traces ?? "") === "") return silentTracing;
  const { createOtlpTracing } = await import("./otlp-tracing.ts"); // Loading takes 130 ms.
  return createOtlpTracing(config);
}
