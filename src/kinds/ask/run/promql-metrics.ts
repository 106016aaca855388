/** The end-user and cache metrics of PromQL. */

import type { Metrics } from "../../../ground/observe/index.ts";
import type { PromqlExecutorObserver } from "./promql-executor.ts";
import type { PromqlObserver } from "./service-options.ts";

/** Metrics of a process that answers queries. */
export function createPromqlMetrics(metrics: Metrics): PromqlObserver {
  const duration = metrics.histogram(
    "promql_query_duration_seconds",
    "PromQL queries, from the request to the whole answer.",
    ["op", "outcome"],
  );
  const quantiles = metrics.summary(
    "promql_query_latency_seconds",
    "The same of queries that succeeded in the last ten minutes, as p50, p95 and p99.",
    ["op"],
  );
  const first = metrics.histogram(
    "promql_first_result_seconds",
    "From the request to the first result.",
    ["op"],
  );
  const stages = metrics.histogram(
    "promql_stage_duration_seconds",
    "What queries spend their time on: plan, queue, work, fetch, eval.",
    ["stage"],
  );
  const errors = metrics.counter("promql_query_errors_total", "Queries that failed, by reason.", [
    "op",
    "code",
  ]);
  const samples = metrics.counter("promql_samples_total", "Samples that workers read for queries.");
  const leaves = metrics.counter(
    "promql_leaves_total",
    "Leaves that workers computed, by what they gave: raw, steps or partials.",
    ["output"],
  );
  const running = metrics.gauge("promql_queries_running", "PromQL queries under way or waiting.");
  return {
    queryStarted: () => running.inc(),
    queryEnded({ op, durationMs, error, summary }) {
      running.dec();
      const outcome = error === undefined ? "done" : error === "cancelled" ? "cancelled" : "failed";
      duration.observe({ op, outcome }, durationMs / 1000);
      if (outcome === "done") quantiles.observe({ op }, durationMs / 1000);
      if (outcome === "failed") errors.inc({ op, code: error ?? "unknown" });
      if (summary === undefined) return;
      first.observe({ op }, summary.stages.firstResultMs / 1000);
      for (const stage of ["plan", "queue", "work", "fetch", "eval"] as const) {
        stages.observe({ stage }, summary.stages[`${stage}Ms`] / 1000);
      }
      for (const { output, works } of summary.leaves) {
        leaves.inc({ output });
        for (const work of works) samples.inc(work.samples);
      }
    },
  };
}

/** Metrics of a process that executes works. */
export function createPromqlWorkerMetrics(
  metrics: Metrics,
  diskBytes: () => number,
): PromqlExecutorObserver {
  metrics.gauge("decoded_disk_bytes", "Decoded columns on this worker's disk.", [], diskBytes);
  const bytes = metrics.gauge("decoded_cache_bytes", "Decoded columns in memory.");
  const hitRatio = metrics.gauge(
    "decoded_cache_hit_ratio",
    "Share of column reads that the cache answered, since the start.",
  );
  const pulls = metrics.gauge("head_pulled_bytes", "Bytes of the head pulled, since the start.");
  const pullTime = metrics.histogram("head_pull_seconds", "Pulls of a slice of the head.");
  return {
    usageChanged({ cacheBytes, cacheHits, cacheMisses, headBytes }) {
      bytes.set(cacheBytes);
      hitRatio.set(cacheHits / Math.max(1, cacheHits + cacheMisses));
      pulls.set(headBytes);
    },
    headPulled: (durationMs) => pullTime.observe(durationMs / 1000),
  };
}
