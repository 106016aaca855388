/** Logs, metrics, spans, and what a worker says about itself. */
export { createEngineMetrics } from "./engine-metrics.ts";
export { FactsReporter } from "./facts-reporter.ts";
export { showHealth } from "./health-metrics.ts";
export { Metrics } from "./metrics.ts";
export { openMetricsContentType } from "./open-metrics.ts";
export { createPinoLogger, type LogLevel } from "./pino-logger.ts";
export { createPromqlMetrics, createPromqlWorkerMetrics } from "./promql-metrics.ts";
export {
  createApiQueryMetrics,
  createDownloadMetrics,
  createQueueMetrics,
  createWorkerQueryMetrics,
} from "./query-metrics.ts";
export { createRefreshMetrics } from "./refresh-metrics.ts";
export { Scrubber } from "./scrub.ts";
export { createSessionMetrics } from "./session-metrics.ts";
export { formatShortLine, type LogRecord, parseRecord } from "./short-line.ts";
export { type QuerySpan, startTracing, type Tracing } from "./tracing.ts";
