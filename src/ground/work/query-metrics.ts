/** The scheduling, execution, artifact and end-user metrics of interactive-queries.md. */

import type { Metrics } from "../observe/index.ts";
import type { ApiQueryObserver, QueueState, WorkerQueryObserver } from "./core/index.ts";

/** For a process that assigns work. Read at every scrape, because an age grows by itself. */
export function createQueueMetrics(metrics: Metrics, queue: () => QueueState): void {
  metrics.gauge(
    "work_queue_depth",
    "Everything that waits: queries at the gate, works that no worker has accepted, works in workers' queues.",
    [],
    () => queue().depth,
  );
  metrics.gauge(
    "work_oldest_age_seconds",
    "How long the oldest of those has waited.",
    [],
    () => queue().oldestAgeMs / 1000,
  );
}

/** For a process that assigns work. */
export function createApiQueryMetrics(metrics: Metrics): Omit<ApiQueryObserver, "dataCorrupt"> {
  const affinity = { hits: 0, assigned: 0 };
  metrics.gauge(
    "work_affinity_hit_ratio",
    "Share of assignments that went to the worker that affinity prefers, since the start.",
    [],
    () => (affinity.assigned === 0 ? 1 : affinity.hits / affinity.assigned),
  );
  const assigned = metrics.counter(
    "work_assigned_total",
    "Assignments sent, by whether affinity's first choice was taken.",
    ["affinity"],
  );
  const assignment = metrics.workHistogram(
    "work_assignment_latency_seconds",
    "From submission, or from the loss that moved the work, to acceptance.",
  );
  const accepted = metrics.counter("work_accepted_total", "Assignments that workers accepted.");
  const rejected = metrics.counter("work_rejected_total", "Assignments that workers refused.", [
    "reason",
  ]);
  const reassigned = metrics.counter(
    "work_reassigned_total",
    "Works that moved to another worker.",
    ["reason"],
  );
  const running = metrics.gauge("queries_running", "Queries that have started and not ended.", [
    "kind",
  ]);
  const duration = metrics.histogram("query_duration_seconds", "Queries, from start to end.", [
    "kind",
    "outcome",
  ]);
  const first = metrics.histogram(
    "query_first_result_seconds",
    "From submission to the first committed artifact.",
    ["kind"],
  );
  const errors = metrics.counter("query_errors_total", "Queries that failed, by reason.", [
    "kind",
    "code",
  ]);
  const readyToFetch = metrics.workHistogram(
    "artifact_ready_to_fetch_seconds",
    "From WorkReady to the start of the fetch.",
  );
  const fetch = metrics.workHistogram(
    "artifact_fetch_seconds",
    "Fetches, until their bytes were verified.",
  );
  const fetchedBytes = metrics.counter(
    "artifact_fetched_bytes_total",
    "Bytes of artifacts fetched.",
  );
  const fetchFailures = metrics.counter(
    "artifact_fetch_failures_total",
    "Fetches that failed, by code.",
    ["code"],
  );
  const mismatches = metrics.counter(
    "artifact_checksum_mismatches_total",
    "Artifacts whose bytes were not what their worker said.",
  );
  return {
    workAssigned(_workerId, affinityHit) {
      affinity.assigned += 1;
      if (affinityHit) affinity.hits += 1;
      assigned.inc({ affinity: affinityHit ? "hit" : "miss" });
    },
    workAccepted(_workerId, latencyMs, work) {
      accepted.inc();
      assignment.observe({}, latencyMs / 1000, work);
    },
    workRejected: (_workerId, reason) => rejected.inc({ reason }),
    workReassigned: (reason) => reassigned.inc({ reason: labelOf(reason) }),
    queryStarted: (kind) => running.inc({ kind }),
    queryEnded(kind, outcome, durationMs, code) {
      running.dec({ kind });
      duration.observe({ kind, outcome }, durationMs / 1000);
      if (outcome === "failed") errors.inc({ kind, code: labelOf(code ?? "unknown") });
    },
    firstResult: (kind, latencyMs) => first.observe({ kind }, latencyMs / 1000),
    artifactFetched(readyToFetchMs, fetchMs, sizeBytes, work) {
      readyToFetch.observe({}, readyToFetchMs / 1000, work);
      fetch.observe({}, fetchMs / 1000, work);
      fetchedBytes.inc(sizeBytes);
    },
    artifactFetchFailed: (code) => fetchFailures.inc({ code: labelOf(code) }),
    checksumMismatch: () => mismatches.inc(),
  };
}

/** For a process that executes work. */
export function createWorkerQueryMetrics(metrics: Metrics): WorkerQueryObserver {
  const queued = metrics.gauge("worker_queue_depth", "Accepted work that waits for a slot.");
  const executing = metrics.gauge("worker_running_work", "Work in a slot.");
  const runtime = metrics.workHistogram("work_runtime_seconds", "Executions, from slot to end.", [
    "kind",
    "outcome",
  ]);
  const cancel = metrics.workHistogram(
    "work_cancel_latency_seconds",
    "From a cancellation's arrival to the executor having stopped.",
    ["kind"],
  );
  const cleaned = metrics.counter(
    "artifact_cleanups_total",
    "Artifacts that left the spool, by reason: acked, ttl, evicted or unwanted.",
    ["reason"],
  );
  const ttl = metrics.counter(
    "artifact_ttl_cleanups_total",
    "Artifacts that nobody fetched in time.",
  );
  const spool = metrics.gauge("artifact_spool_bytes", "Bytes of artifacts on this worker's disk.");
  const free = metrics.gauge(
    "disk_free_bytes",
    "What may still be written within the disk budget.",
  );
  return {
    workerQueueChanged(waiting, running) {
      queued.set(waiting);
      executing.set(running);
    },
    executionEnded: (kind, outcome, runtimeMs, _code, work) =>
      runtime.observe({ kind, outcome }, runtimeMs / 1000, work),
    executionCancelled: (kind, latencyMs, work) => cancel.observe({ kind }, latencyMs / 1000, work),
    artifactCleaned(reason) {
      cleaned.inc({ reason });
      if (reason === "ttl") ttl.inc();
    },
    spoolChanged(usedBytes, freeBytes) {
      spool.set(usedBytes);
      free.set(freeBytes);
    },
  };
}

/** A reason may contain details for people, which a label must not. */
function labelOf(reason: string): string {
  return /^[a-z0-9_]{1,40}/.exec(reason.toLowerCase().replaceAll(" ", "_"))?.[0] ?? "other";
}
