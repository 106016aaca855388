/** A coordinator's lease, a run and workers on a store, for tests. */

import type { LeaseEpoch } from "../../../../ground/kernel/ids.ts";
import type { LeaseGrant, Store } from "../../../../ground/store/index.ts";
import type { RunId } from "../../core/ids.ts";
import { SeriesBook } from "../../core/series-book.ts";
import type { WorkerBeat, WorkerIdentity } from "../../core/worker-control.ts";
import type { GeneratorHealth, WorkerSnapshot } from "../../core/worker-snapshot.ts";
import { testWorker } from "../../testing/ids.ts";

export const leaseName = "coordinator";

/** A further grant takes the lease from the one before. */
export async function takeLease(
  store: Store,
  epoch: number,
  leaseMs = 60_000,
): Promise<LeaseGrant> {
  const nowMs = await store.catalogTransaction((tx) => tx.nowMs());
  await store.transaction(async ({ db }) => {
    await db.deleteFrom("coordinator_leases").execute();
    const row = {
      name: leaseName,
      holder: "c",
      epoch,
      expires_at_ms: nowMs + leaseMs,
      api_url: "",
    };
    await db.insertInto("coordinator_leases").values(row).execute();
  });
  return { name: leaseName, holder: "c", epoch: epoch as LeaseEpoch };
}

export function identityOf(runId: RunId, groupId: number, incarnation = "one"): WorkerIdentity {
  return {
    runId,
    workerId: testWorker(`worker-${groupId}`),
    groupId,
    groupCount: 2,
    testId: `${runId}/worker-${groupId}/${incarnation}`,
    incarnation,
    hostName: "host",
    processId: 4711 + groupId,
  };
}

export function beatOf(changes: Partial<WorkerBeat> = {}): WorkerBeat {
  return {
    status: "RUNNING",
    phase: "MEASUREMENT",
    lastSequenceId: 0,
    targetConnections: 5,
    activeConnections: 5,
    lastError: null,
    ...changes,
  };
}

export const idleHealth: GeneratorHealth = {
  event_loop_delay_ms_p99: 0,
  event_loop_delay_ms_mean: 0,
  schedule_lag_ms_p95: 0,
  latency_ms_p50: 10,
  latency_ms_p95: 20,
  schedule_lag_ms_p99: 0,
  cpu_percent: 10,
  memory_percent: 10,
  rss_bytes: 1,
  waiting: 0,
  dropped: 0,
  unsent: 0,
};

export function bookOf(): SeriesBook {
  const operations = [
    { name: "look", kind: "POINT_LOOKUP" },
    { name: "put", kind: "UPDATE" },
  ] as const;
  return new SeriesBook(operations, "WARMUP");
}

export function snapshotOf(
  { runId, testId, workerId, groupId }: WorkerIdentity,
  sequence: number,
  book: SeriesBook,
  changes: Partial<WorkerSnapshot> = {},
): WorkerSnapshot {
  return {
    run_id: runId,
    test_id: testId,
    worker_id: workerId,
    worker_group_id: groupId,
    sequence,
    status: "RUNNING",
    phase: book.phase,
    step: book.step,
    elapsed_seconds: sequence,
    target_connections: 5,
    target_qps: null,
    active_connections: 5,
    qps: 10,
    health: idleHealth,
    answering: { measured_ms: 1_000 * sequence, silences: "" },
    error_examples: {},
    series: book.snapshot(),
    step_response: null,
    ...changes,
  };
}
