/** The mechanism of logs, metrics and spans. Metrics live with what they measure. */
export { DataCondition } from "./data-condition.ts";
export { showHealth } from "./health-metrics.ts";
export { Metrics } from "./metrics.ts";
export { openMetricsContentType } from "./open-metrics.ts";
export { createPinoLogger, type LogLevel } from "./pino-logger.ts";
export { Scrubber } from "./scrub.ts";
export { formatShortLine, type LogRecord, parseRecord } from "./short-line.ts";
export { type QuerySpan, startTracing, type Tracing } from "./tracing.ts";
