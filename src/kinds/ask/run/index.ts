/**
 * Runs queries: plans them into leaves, computes those next to the data, and evaluates the results
 * in the process that was asked.
 */

import "./core/error-codes.ts";

export { queryMemoryOf } from "./core/promql-memory.ts";
export { promqlRehearsalKind, promqlWorkKind } from "./core/work-body.ts";
export { createPromqlService, type StartedPromqlService } from "./create-promql-service.ts";
export { floatText } from "./json-sink.ts";
export { createPromqlExecutor } from "./promql-executor.ts";
export { createPromqlMetrics, createPromqlWorkerMetrics } from "./promql-metrics.ts";
export type {
  PromqlAnswer,
  PromqlEvent,
  PromqlExplanation,
  PromqlRequest,
  PromqlService,
  QuerySummary,
  SeriesRequest,
} from "./promql-service.ts";
export { createRemoteHead } from "./remote-head.ts";
export type {
  PromqlObserver,
  PromqlServiceDeps,
} from "./service-options.ts";
