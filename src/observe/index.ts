/** Logs, metrics, spans, and what a worker says about itself. */
export { FactsReporter } from "./facts-reporter.ts";
export { Metrics } from "./metrics.ts";
export { createPinoLogger, type LogLevel } from "./pino-logger.ts";
export { createPromqlMetrics, createPromqlWorkerMetrics } from "./promql-metrics.ts";
export {
  createApiQueryMetrics,
  createDownloadMetrics,
  createWorkerQueryMetrics,
} from "./query-metrics.ts";
export { createRefreshMetrics } from "./refresh-metrics.ts";
export { Scrubber } from "./scrub.ts";
export { createSessionMetrics } from "./session-metrics.ts";
export { formatShortLine, type LogRecord, parseRecord } from "./short-line.ts";
export { type QuerySpan, startTracing, type Tracing } from "./tracing.ts";
