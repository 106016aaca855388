import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkerId } from "../kernel/ids.ts";
import { Metrics } from "./metrics.ts";
import {
  createApiQueryMetrics,
  createDownloadMetrics,
  createWorkerQueryMetrics,
} from "./query-metrics.ts";
import { createSessionMetrics } from "./session-metrics.ts";

const worker = "worker-1" as WorkerId;

/** "Observability Requirements" of interactive-queries.md, one name for each entry. */
const controllerNames = [
  "capstan_control_streams_active",
  "capstan_control_heartbeat_rtt_seconds",
  "capstan_control_disconnects_total",
  "capstan_control_reconnect_seconds",
  "capstan_work_assignment_latency_seconds",
  "capstan_work_accepted_total",
  "capstan_work_rejected_total",
  "capstan_work_reassigned_total",
  "capstan_work_affinity_hit_ratio",
  "capstan_work_queue_depth",
  "capstan_work_oldest_age_seconds",
  "capstan_query_duration_seconds",
  "capstan_artifact_ready_to_fetch_seconds",
  "capstan_artifact_fetch_seconds",
  "capstan_artifact_checksum_mismatches_total",
  "capstan_query_first_result_seconds",
  "capstan_query_errors_total",
  "capstan_process_cpu_seconds_total",
];
const workerNames = [
  "capstan_worker_queue_depth",
  "capstan_work_runtime_seconds",
  "capstan_download_duration_seconds",
  "capstan_work_cancel_latency_seconds",
  "capstan_artifact_ttl_cleanups_total",
  "capstan_artifact_spool_bytes",
  "capstan_parquet_cache_bytes",
  "capstan_disk_free_bytes",
];

function value(text: string, line: string): number {
  const found = text.split("\n").find((candidate) => candidate.startsWith(line));
  return Number(found?.split(" ").at(-1));
}

test("[OB4] a controller has every metric that the spec lists, and they move", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "1" });
  let depth = 0;
  const queries = createApiQueryMetrics(metrics, () => ({ depth, oldestAgeMs: 2_500 }));
  const sessions = createSessionMetrics(metrics);
  sessions.streamsActive(2);
  sessions.sessionUp(worker, 1_500);
  sessions.sessionDown(worker, "link_lost");
  queries.workAssigned(worker, true);
  queries.workAssigned(worker, false);
  queries.workReassigned("worker_down");
  queries.queryStarted("sql");
  queries.queryEnded("sql", "failed", 12, "bad_sql");
  queries.checksumMismatch(worker);
  depth = 4;
  const text = await metrics.text();
  for (const name of controllerNames) assert.ok(text.includes(`# HELP ${name} `), name);
  assert.equal(value(text, "capstan_control_streams_active{"), 2);
  assert.equal(value(text, 'capstan_control_disconnects_total{cause="link_lost"'), 1);
  assert.equal(value(text, "capstan_control_reconnect_seconds_sum{"), 1.5);
  assert.equal(value(text, "capstan_work_affinity_hit_ratio{"), 0.5);
  assert.equal(value(text, "capstan_work_queue_depth{"), 4);
  assert.equal(value(text, "capstan_work_oldest_age_seconds{"), 2.5);
  assert.equal(value(text, 'capstan_work_reassigned_total{reason="worker_down"'), 1);
  assert.equal(value(text, 'capstan_query_errors_total{kind="sql",code="bad_sql"'), 1);
  assert.equal(value(text, 'capstan_queries_running{kind="sql"'), 0);
  assert.equal(value(text, "capstan_artifact_checksum_mismatches_total{"), 1);
});

test("[OB4] a worker has every metric that the spec lists, and they move", async () => {
  const metrics = new Metrics({ process: "worker", version: "1" });
  const worker = createWorkerQueryMetrics(metrics);
  worker.workerQueueChanged(3, 1);
  worker.executionEnded("sql", "done", 20, undefined);
  worker.artifactCleaned("ttl");
  worker.artifactCleaned("acked");
  worker.spoolChanged(100, 900);
  const downloads = createDownloadMetrics(metrics, () => 70);
  downloads.lookedUp(true);
  downloads.downloadEnded("done", 1_500, 70);
  downloads.downloadEnded("failed", 500, 30);
  const text = await metrics.text();
  for (const name of workerNames) assert.ok(text.includes(`# HELP ${name} `), name);
  assert.equal(value(text, "capstan_worker_queue_depth{"), 3);
  assert.equal(value(text, "capstan_artifact_ttl_cleanups_total{"), 1);
  assert.equal(value(text, 'capstan_artifact_cleanups_total{reason="acked"'), 1);
  assert.equal(value(text, "capstan_artifact_spool_bytes{"), 100);
  assert.equal(value(text, "capstan_disk_free_bytes{"), 900);
  assert.equal(value(text, "capstan_parquet_cache_bytes{"), 70);
  assert.equal(value(text, 'capstan_parquet_cache_lookups_total{outcome="hit"'), 1);
  assert.equal(value(text, "capstan_download_bytes_total{"), 70);
  assert.equal(
    value(text, 'capstan_download_duration_seconds_sum{process="worker",outcome="done"'),
    1.5,
  );
});

test("[OB5] no metric carries the id of a query or a work", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "1" });
  const queries = createApiQueryMetrics(metrics, () => ({ depth: 0, oldestAgeMs: 0 }));
  queries.workReassigned("worker_down: worker-17 went away at 12:00");
  queries.artifactFetchFailed("artifact_lost");
  const text = await metrics.text();
  assert.ok(!/(query_id|work_id)=/.test(text));
  assert.ok(text.includes('reason="worker_down"'), text);
});
