/**
 * What a worker has measured since it began, as it sends it once a second: to the coordinator over
 * HTTP, best effort, and to the store. Rules: WS1 to WS3.
 */
import type { z } from "zod";
import type { WorkerTarget } from "./control-events.ts";
import type { RunPhase, WorkerStatus } from "./run-state.ts";
import type { Immutable } from "./schema-parts.ts";
import type { WorkerIdentity } from "./worker-control.ts";
import type { livePostSchema } from "./worker-snapshot-schema.ts";

export type LivePost = Immutable<z.input<typeof livePostSchema>>;
export type WorkerSnapshot = LivePost["metrics"];
export type SeriesSnapshot = WorkerSnapshot["series"][number];
export type Answering = WorkerSnapshot["answering"];
export type GeneratorHealth = WorkerSnapshot["health"];

/** The health of the process. */
export type ProcessHealth = Pick<
  GeneratorHealth,
  | "event_loop_delay_ms_p99"
  | "event_loop_delay_ms_mean"
  | "cpu_percent"
  | "memory_percent"
  | "rss_bytes"
>;

/** The snapshot of a worker that never measured. */
export function emptySnapshot(
  worker: WorkerIdentity,
  status: WorkerStatus,
  phase: RunPhase,
  target: WorkerTarget,
  process: ProcessHealth,
): WorkerSnapshot {
  const lags = { schedule_lag_ms_p99: 0, schedule_lag_ms_p95: 0 };
  const latencies = { latency_ms_p50: null, latency_ms_p95: null };
  return {
    run_id: worker.runId,
    ...identityFields(worker),
    sequence: 1,
    status,
    phase,
    step: 0,
    elapsed_seconds: 0,
    target_connections: target.connections,
    target_qps: target.qps,
    active_connections: 0,
    qps: 0,
    health: { ...process, ...lags, ...latencies, waiting: 0, dropped: 0, unsent: 0 },
    answering: { measured_ms: 0, silences: "" },
    error_examples: {},
    series: [],
    step_response: null,
  };
}

export function identityFields({ testId, workerId, groupId }: WorkerIdentity) {
  return { test_id: testId, worker_id: workerId, worker_group_id: groupId };
}
