/** What the HTTP surface asks of this process, answered from the node and its store. */
import type { ApiPorts, StatusBody, WorkerBody, WorkersPort } from "../api/index.ts";
import { readLease, readSchemaVersion } from "../store/index.ts";
import { readBacklog } from "../tables/index.ts";
import { type PortsConfig, roleOf } from "./ports-config.ts";
import { createPromqlPort } from "./promql-port.ts";
import { createQueriesPort } from "./queries-port.ts";
import { decideReadiness, partBody } from "./readiness.ts";
import { createTablesPort } from "./tables-port.ts";
import { waitingWork } from "./waiting-work.ts";
import { watchCatalog } from "./watch-catalog.ts";
import { createWorkersPort } from "./workers-port.ts";

export function createApiPorts(config: PortsConfig): ApiPorts {
  const { store, metrics, clock, logger } = config;
  const workers = createWorkersPort(config);
  const queries = createQueriesPort(config);
  return {
    clock,
    logger,
    workers,
    queries,
    tables: store && createTablesPort(store, queries),
    uploads: config.uploads,
    refreshLoad: store && (() => store.read(readBacklog)),
    load: config.load,
    promql: createPromqlPort(config.metricsParts.promql, config),
    ingest: () => config.metricsParts.ingest(),
    ready: () => decideReadiness(roleOf(config.node), config.health),
    status: createStatus(config, workers),
    metrics: (accept) => metrics.exposition(accept),
    watch: (request, signal) => watchCatalog(config, request, signal),
  };
}

function createStatus(
  { node, store, metricsParts, health, condition, clock, version, leaseName }: PortsConfig,
  workers: WorkersPort,
): () => Promise<StatusBody> {
  const startedAtMs = clock.wallMs();
  const startMs = clock.nowMs();
  let schemaVersion: number | undefined;
  return async () => {
    const counts = node.manager.counts();
    const waiting = waitingWork(node, metricsParts.promql.waiting());
    if (store !== undefined) schemaVersion ??= await readSchemaVersion(store);
    const lease = store === undefined ? undefined : await readLease(store, leaseName);
    return {
      version,
      role: roleOf(node),
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
