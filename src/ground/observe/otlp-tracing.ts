/** `Tracing` on OpenTelemetry's SDK, whose exporter is configured by the environment. */
import {
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
} from "@opentelemetry/sdk-trace-base";
import { parseTraceparent, type TraceIds, traceIdsOf } from "./trace-ids.ts";
import type { Tracing, TracingConfig } from "./tracing.ts";

/** Generates random ids, except for a span that is started with chosen ids. */
class ChosenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #chosen: TraceIds | undefined;

  generateTraceId(): string {
    return this.#chosen?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#chosen?.spanId ?? this.#random.generateSpanId();
  }

  /** `start` is synchronous, so that no other span can take the ids. */
  with<T>(ids: TraceIds, start: () => T): T {
    this.#chosen = ids;
    try {
      return start();
    } finally {
      this.#chosen = undefined;
    }
  }
}

export function createOtlpTracing(config: TracingConfig): Tracing {
  const ids = new ChosenIds();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": config.env.OTEL_SERVICE_NAME ?? config.serviceName,
      "service.instance.id": config.instance,
      "service.version": config.version,
    }),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter(), {
        maxQueueSize: 2_048,
        scheduledDelayMillis: 1_000,
        exportTimeoutMillis: 5_000,
      }),
    ],
  });
  const tracer = provider.getTracer("capstan", config.version);
  return {
    startQuery(queryId, kind, traceparent) {
      const caller = parseTraceparent(traceparent);
      const span = ids.with(traceIdsOf(queryId), () =>
        tracer.startSpan(`query ${kind}`, {
          root: true,
          kind: SpanKind.SERVER,
          attributes: { query_id: queryId, "capstan.kind": kind },
          links: caller === undefined ? [] : [{ context: remote(caller) }],
        }),
      );
      return { end: (error) => endSpan(span, error) };
    },
    startWork({ queryId, leafId, workId, kind }) {
      const parent = trace.setSpanContext(context.active(), remote(traceIdsOf(queryId)));
      const attributes = { query_id: queryId, leaf_id: leafId, work_id: workId };
      const span = tracer.startSpan(
        `work ${kind}`,
        { kind: SpanKind.CONSUMER, attributes },
        parent,
      );
      return {
        produced: (rowCount, sizeBytes) =>
          void span.setAttributes({ row_count: rowCount, artifact_bytes: sizeBytes }),
        end: (error) => endSpan(span, error),
      };
    },
    close: async () => await provider.shutdown(),
  };
}

function remote({ traceId, spanId }: TraceIds): {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote: true;
} {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

function endSpan(
  span: Span,
  error: { readonly code: string; readonly message: string } | undefined,
): void {
  if (!span.isRecording()) return;
  if (error !== undefined) {
    span.setAttribute("error.type", error.code);
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  }
  span.end();
}
