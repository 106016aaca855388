import type { Clock } from "../../../ground/kernel/clock.ts";
import type { HealthBoard } from "../../../ground/kernel/health.ts";
import type { DataCondition } from "../../../ground/observe/index.ts";
import type { Store } from "../../../ground/store/index.ts";
import { readLease, readSchemaVersion } from "../../../ground/store/index.ts";
import type { QueueState } from "../../../ground/work/index.ts";
import { type ControllerNode, type Leadership, leaseName } from "../../../ground/work/index.ts";
import type { WorkersPort } from "../ports.ts";
import type { StatusBody, WorkerBody } from "../schemas.ts";
import { partBody } from "./readiness.ts";
/** The sources of the cluster's status. */
export interface StatusSources {
  readonly node: ControllerNode;
  /** Undefined for a query-api that finds its workers without a store. */
  readonly store: Store | undefined;
  readonly leadership: Leadership;
  readonly health: HealthBoard;
  readonly condition: Pick<DataCondition, "counts">;
  readonly clock: Clock;
  readonly version: string;
  /** All queued work. */
  readonly waiting: () => QueueState;
}

export function createStatus(
  { node, store, leadership, health, condition, clock, version, ...sources }: StatusSources,
  workers: WorkersPort,
): () => Promise<StatusBody> {
  const startedAtMs = clock.wallMs();
  const startMs = clock.nowMs();
  let schemaVersion: number | undefined;
  return async () => {
    const counts = node.manager.counts();
    const waiting = sources.waiting();
    if (store !== undefined) schemaVersion ??= await readSchemaVersion(store);
    const lease = store === undefined ? undefined : await readLease(store, leaseName);
    return {
      version,
      role: leadership.role(),
      lease:
        lease === undefined || lease.remainingMs <= 0
          ? null
          : { holder: lease.holder, epoch: lease.epoch, api_url: lease.apiUrl },
      store:
        store === undefined ? null : { dialect: store.dialect, schema_version: schemaVersion ?? 0 },
      workers: await countWorkers(workers),
      queries: {
        running: counts.running,
        queued: waiting.depth,
        completed_total: counts.completedTotal,
        failed_total: counts.failedTotal,
        oldest_age_ms: Math.round(waiting.oldestAgeMs),
      },
      stored_files: condition.counts() ?? null,
      parts: health.parts().map(partBody),
      started_at_ms: startedAtMs,
      uptime_ms: Math.round(clock.nowMs() - startMs),
    };
  };
}

async function countWorkers(workers: WorkersPort): Promise<StatusBody["workers"]> {
  const counts = { active: 0, unreachable: 0, draining: 0 };
  const limit = 1000;
  let after: string | undefined;
  for (;;) {
    const page: readonly WorkerBody[] = await workers.list({ limit, after });
    for (const { state, draining, drain_requested } of page) {
      if (state === "ACTIVE") counts.active += 1;
      else counts.unreachable += 1;
      if (draining || drain_requested) counts.draining += 1;
    }
    if (page.length < limit) return counts;
    after = page.at(-1)?.worker_id;
  }
}
