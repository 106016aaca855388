import assert from "node:assert/strict";
import { test } from "node:test";
import { createDownloadMetrics } from "../../data/lake/objects/download-metrics.ts";
import { createSessionMetrics } from "../cluster/session-metrics.ts";
import { HealthBoard } from "../kernel/health.ts";
import type { WorkerId } from "../kernel/ids.ts";
import { VirtualClock } from "../kernel/testing/virtual-clock.ts";
import type { WorkKey } from "../work/core/index.ts";
import {
  createApiQueryMetrics,
  createQueueMetrics,
  createWorkerQueryMetrics,
} from "../work/query-metrics.ts";
import { showHealth } from "./health-metrics.ts";
import { Metrics } from "./metrics.ts";
import { prefersOpenMetrics } from "./open-metrics.ts";

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

const work = { queryId: "q-1", leafId: "sql", workId: "0" } as WorkKey;

test("[OB4] a controller has every metric that the spec lists, and they move", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "1" });
  let depth = 0;
  const queries = createApiQueryMetrics(metrics);
  createQueueMetrics(metrics, () => ({ depth, oldestAgeMs: 2_500 }));
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
  worker.executionEnded("sql", "done", 20, undefined, work);
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
  const queries = createApiQueryMetrics(metrics);
  queries.workReassigned("worker_down: worker-17 went away at 12:00");
  queries.artifactFetchFailed("artifact_lost");
  const text = await metrics.text();
  assert.ok(!/(query_id|work_id)=/.test(text));
  assert.ok(text.includes('reason="worker_down"'), text);
});

test("[OB10] a part's health is a gauge of its states", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "0" });
  const health = new HealthBoard({ clock: new VirtualClock() });
  showHealth(metrics, health);
  const disk = health.part("disk");
  disk.degraded("full");
  const text = await metrics.text();
  assert.match(text, /capstan_part_health\{part="disk",state="degraded",process="coordinator"\} 1/);
  assert.match(text, /capstan_part_health\{part="disk",state="ok",process="coordinator"\} 0/);
  disk.close();
  assert.doesNotMatch(await metrics.text(), /part="disk"/);
});

test("[OB11] works are exemplars of OpenMetrics, never labels; the plain text stays as it was", async () => {
  const metrics = new Metrics({ process: "worker", version: "1" });
  createWorkerQueryMetrics(metrics).executionEnded("sql", "done", 20, undefined, work);
  const plainBefore = await metrics.exposition(undefined);
  const open = await metrics.exposition(
    "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.4",
  );
  assert.match(open.contentType, /^application\/openmetrics-text/);
  assert.match(
    open.text,
    /capstan_work_runtime_seconds_bucket\{process="worker",le="0.025",kind="sql",outcome="done"\} 1 # \{query_id="q-1",work_id="0"\} 0.02 \d/,
  );
  assert.match(open.text, /^# TYPE capstan_artifact_cleanups counter$/m);
  assert.ok(open.text.endsWith("# EOF\n"));
  const plain = await metrics.exposition("text/plain");
  assert.equal(plain.contentType, plainBefore.contentType);
  assert.match(plain.text, /^# TYPE capstan_artifact_cleanups_total counter$/m);
  assert.doesNotMatch(plain.text, /work_id|query_id/);
});

test("[OB11] OpenMetrics is for whoever prefers it", () => {
  for (const [accept, want] of [
    [undefined, false],
    ["*/*", false],
    ["text/plain;version=0.0.4", false],
    ["application/openmetrics-text", true],
    ["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.7", false],
    ["application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true],
  ] as const) {
    assert.equal(prefersOpenMetrics(accept), want, accept);
  }
});

test("[OB11] whatever is measured of a single work has that work as an exemplar", async () => {
  const metrics = new Metrics({ process: "worker", version: "1" });
  createWorkerQueryMetrics(metrics).executionCancelled("sql", 20, work);
  createApiQueryMetrics(metrics).artifactFetched(3, 20, 10, work);
  const { text } = await metrics.exposition("application/openmetrics-text");
  for (const name of [
    "work_cancel_latency_seconds",
    "artifact_ready_to_fetch_seconds",
    "artifact_fetch_seconds",
  ]) {
    const exemplar = `^capstan_${name}_bucket.* # \\{query_id="q-1",work_id="0"\\}`;
    assert.match(text, new RegExp(exemplar, "m"));
  }
});

test("[OB12] a quantile of nothing is NaN", async () => {
  const metrics = new Metrics({ process: "coordinator", version: "1" });
  const summary = metrics.summary("test_seconds", "A test.", ["op"]);
  summary.observe({ op: "seen" }, 2);
  summary.labels("idle");
  summary.observe({ op: "idle" }, 1);
  summary.reset();
  summary.observe({ op: "seen" }, 2);
  summary.observe({ op: "none" }, 0);
  const text = await metrics.text();
  assert.match(text, /capstan_test_seconds\{quantile="0.5",op="idle",process="coordinator"\} Nan/i);
  assert.match(text, /capstan_test_seconds\{quantile="0.5",op="seen",process="coordinator"\} 2/);
  assert.match(text, /capstan_test_seconds\{quantile="0.5",op="none",process="coordinator"\} 0$/m);
});
