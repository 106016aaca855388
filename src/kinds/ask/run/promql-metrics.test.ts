import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import { Metrics } from "../../../ground/observe/metrics.ts";
import { createPromqlMetrics, createPromqlWorkerMetrics } from "./promql-metrics.ts";

const queryId = "q-1" as QueryId;
const summary = {
  queryId,
  resultType: "matrix",
  seriesCount: 1,
  pointCount: 2,
  warnings: [],
  infos: [],
  stages: {
    planMs: 1,
    queueMs: 2,
    workMs: 30,
    fetchMs: 4,
    evalMs: 5,
    totalMs: 50,
    firstResultMs: 40,
  },
  leaves: [
    {
      text: "x",
      output: "partials" as const,
      segmentCount: 1,
      fromHead: false,
      works: [
        {
          shard: 0,
          workerId: "w",
          attempts: 1,
          samples: 7,
          series: 1,
          artifactBytes: 1,
          workMs: 1,
        },
      ],
    },
  ],
};

test("[OB4] what a query took is told as a histogram, quantiles and stages", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "0" });
  const observer = createPromqlMetrics(metrics);
  observer.queryStarted(queryId, "query", undefined);
  observer.queryStarted(queryId, "series", undefined);
  observer.queryEnded({ queryId, op: "query", durationMs: 50, error: undefined, summary });
  const text = await metrics.text();
  for (const line of [
    /^capstan_promql_query_duration_seconds_count\{.*outcome="done".*\} 1$/m,
    /^capstan_promql_query_latency_seconds\{.*quantile="0.99".*\} 0.05$/m,
    /^capstan_promql_first_result_seconds_sum\{.*\} 0.04$/m,
    /^capstan_promql_stage_duration_seconds_sum\{.*stage="work".*\} 0.03$/m,
    /^capstan_promql_samples_total\{.*\} 7$/m,
    /^capstan_promql_leaves_total\{.*output="partials".*\} 1$/m,
    /^capstan_promql_queries_running\{.*\} 1$/m,
  ]) {
    assert.match(text, line);
  }
  assert.doesNotMatch(text, /q-1/);
});

test("[OB4] a failure counts by its reason, a cancellation does not", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "0" });
  const observer = createPromqlMetrics(metrics);
  for (const error of ["cancelled", "deadline_exceeded"]) {
    observer.queryStarted(queryId, "stream", undefined);
    observer.queryEnded({ queryId, op: "stream", durationMs: 1, error, summary: undefined });
  }
  const text = await metrics.text();
  assert.match(text, /^capstan_promql_query_errors_total\{.*deadline_exceeded.*\} 1$/m);
  assert.doesNotMatch(text, /capstan_promql_query_errors_total\{.*cancelled/);
});

test("[OB4] a worker's caches", async () => {
  const metrics = new Metrics({ process: "worker", version: "0" });
  const observer = createPromqlWorkerMetrics(metrics, () => 12);
  const usage = {
    cacheBytes: 5,
    cacheHits: 3,
    cacheMisses: 1,
    headPulls: 1,
    headBytes: 9,
    headMs: 2,
  };
  observer.usageChanged(usage);
  observer.headPulled(2);
  const text = await metrics.text();
  assert.match(text, /^capstan_decoded_cache_bytes\{.*\} 5$/m);
  assert.match(text, /^capstan_decoded_cache_hit_ratio\{.*\} 0.75$/m);
  assert.match(text, /^capstan_decoded_disk_bytes\{.*\} 12$/m);
  assert.match(text, /^capstan_head_pull_seconds_count\{.*\} 1$/m);
});
