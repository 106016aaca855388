/** What the HTTP surface asks of this process, answered from the node and its store. */
import type { ApiPorts, ReadyBody, StatusBody, WorkerBody, WorkersPort } from "../api/index.ts";
import { readLease, readSchemaVersion } from "../store/index.ts";
import { readBacklog } from "../tables/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { type PortsConfig, roleOf } from "./ports-config.ts";
import { createPromqlPort } from "./promql-port.ts";
import { createQueriesPort } from "./queries-port.ts";
import { createTablesPort } from "./tables-port.ts";
import { watchCatalog } from "./watch-catalog.ts";
import { createWorkersPort } from "./workers-port.ts";

export function createApiPorts(config: PortsConfig): ApiPorts {
  const { node, store, metrics, clock, logger } = config;
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
    ready: () => readiness(node),
    status: createStatus(config, workers),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    watch: (request, signal) => watchCatalog(config, request, signal),
  };
}

/** Ready means that queries are answered here: a load balancer sends them to the leader and to replicas. */
function readiness(node: ControllerNode): ReadyBody {
  const role = roleOf(node);
  if (role !== "standby") return { ready: true, role };
  return { ready: false, role, reason: "this coordinator does not hold the lease" };
}

function createStatus(
  { node, store, clock, version, leaseName }: PortsConfig,
  workers: WorkersPort,
): () => Promise<StatusBody> {
  const startedAtMs = clock.wallMs();
  const startMs = clock.nowMs();
  let schemaVersion: number | undefined;
  return async () => {
    const counts = node.manager.counts();
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
        queued: counts.queued,
        completed_total: counts.completedTotal,
        failed_total: counts.failedTotal,
        oldest_age_ms: Math.round(node.manager.queue().oldestAgeMs),
      },
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
