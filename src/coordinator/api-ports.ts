/** What the HTTP surface asks of this process, answered from the node and its store. */
import type {
  ApiPorts,
  QueriesPort,
  ReadyBody,
  StatusBody,
  WatchMessage,
  WatchRequest,
  WorkerBody,
  WorkersPort,
} from "../api/index.ts";
import { getWorker, listWorkers } from "../cluster/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import {
  type Incarnation,
  parseQueryId,
  parseWorkerId,
  type QueryId,
  type WorkerId,
} from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { type Prng, randomText } from "../kernel/prng.ts";
import type { Metrics, QuerySpan, Tracing } from "../observe/index.ts";
import { type Engine, runSql } from "../queries/index.ts";
import {
  isWatchedTable,
  parseWatchSelect,
  readLease,
  readSchemaVersion,
  type Store,
  type WatchEvent,
  type WatchSelect,
  watch,
  watchedTables,
} from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { queryBody } from "./query-bodies.ts";
import { watchedRow, workerBody, workerBodyOfView } from "./worker-bodies.ts";

export interface PortsConfig {
  readonly node: ControllerNode;
  readonly store: Store | undefined;
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly version: string;
  /** Of the lease that coordinators compete for. */
  readonly leaseName: string;
}

export function createApiPorts(config: PortsConfig): ApiPorts {
  const { node, metrics, clock, logger } = config;
  const workers = createWorkersPort(config);
  return {
    clock,
    logger,
    workers,
    queries: createQueriesPort(config),
    ready: () => readiness(node),
    status: createStatus(config, workers),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    watch: (request, signal) => watchCatalog(config, request, signal),
  };
}

function roleOf(node: ControllerNode): StatusBody["role"] {
  if (node.role === "query_api") return "query_api";
  return node.leading() ? "leader" : "standby";
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

function createWorkersPort(config: PortsConfig): WorkersPort {
  const { node, store, clock } = config;
  const viewsAsBodies = (): WorkerBody[] =>
    node.pool
      .views()
      .map((view) => workerBodyOfView(view, clock.nowMs()))
      .sort((left, right) => (left.worker_id < right.worker_id ? -1 : 1));
  return {
    async list({ limit, after }) {
      if (store === undefined) {
        return viewsAsBodies()
          .filter(({ worker_id }) => after === undefined || worker_id > after)
          .slice(0, limit);
      }
      const afterId = after === undefined ? undefined : parseWorkerId(after);
      if (after !== undefined && afterId === undefined) {
        throw new OperatingError("bad_request", "never", "page_token: is not one of ours");
      }
      const page = afterId === undefined ? { limit } : { limit, after: afterId };
      const { workers } = await listWorkers(store, page);
      return workers.map((row) =>
        workerBody(row, node.pool.view(row.worker_id as WorkerId), clock.nowMs()),
      );
    },
    async get(workerId) {
      if (store === undefined) {
        return viewsAsBodies().find(({ worker_id }) => worker_id === workerId);
      }
      const row = await getWorker(store, workerId);
      if (row === undefined) return undefined;
      return workerBody(row, node.pool.view(workerId), clock.nowMs());
    },
    async register(body) {
      await asLeader(config, async () => {
        await node.registerWorker({
          workerId: body.worker_id as WorkerId, // The schema has checked the form of both.
          incarnation: body.incarnation as Incarnation,
          hostName: body.host_name,
          grpcPort: body.grpc_port,
          dataPort: body.data_port,
          capacity: body.capacity,
          softwareVersion: body.software_version,
        });
      });
    },
    async setDrainRequested(workerId, draining) {
      await asLeader(config, async () => {
        await (draining ? node.requestDrain(workerId) : node.cancelDrain(workerId));
      });
    },
    async drop(workerId) {
      await asLeader(config, async () => {
        await node.dropWorker(workerId);
      });
    },
  };
}

/** A refusal for want of the lease says who has it. */
async function asLeader(
  { store, leaseName }: PortsConfig,
  change: () => Promise<void>,
): Promise<void> {
  try {
    await change();
  } catch (thrown) {
    const notOurs =
      thrown instanceof OperatingError &&
      (thrown.code === "not_leader" || thrown.code === "lease_lost");
    if (!notOurs) throw thrown;
    throw await notLeader(store, leaseName);
  }
}

async function notLeader(store: Store | undefined, leaseName: string): Promise<OperatingError> {
  const lease = store === undefined ? undefined : await readLease(store, leaseName);
  const leader = lease === undefined || lease.remainingMs <= 0 ? "" : lease.apiUrl;
  const message = "this process is not the coordinator that leads";
  return new OperatingError("not_leader", "backoff", message, {
    hint:
      leader === "" ? "Nobody leads at the moment; try again in a few seconds." : `Ask ${leader}`,
  });
}

function createQueriesPort(config: PortsConfig): QueriesPort {
  const { node, engine, tracing, clock, prng, store, leaseName } = config;
  const { manager } = node;
  return {
    async sql(sql, { timeoutMs, traceparent }, signal) {
      // A standby has no sessions. A leader in doubt about its lease still has, and they need no lease.
      const standsBy = roleOf(node) === "standby";
      if (standsBy && !node.pool.views().some(({ live }) => live !== undefined)) {
        throw await notLeader(store, leaseName);
      }
      const queryId = newQueryId(prng);
      const span = tracing.startQuery(queryId, "sql", traceparent);
      try {
        const options = timeoutMs === undefined ? { queryId } : { queryId, timeoutMs };
        const result = await runSql({ manager, engine, clock, prng }, sql, options, signal);
        return { queryId, stream: spanned(result.stream, span, () => manager.get(queryId)?.error) };
      } catch (thrown) {
        const code = thrown instanceof OperatingError ? thrown.code : "internal";
        span.end({ code, message: messageOf(thrown) });
        throw thrown;
      }
    },
    list: () => manager.list().map(queryBody),
    cancel: (queryId) => manager.cancel(queryId, "cancelled by request"),
    queue: () => manager.queue(),
  };
}

function newQueryId(prng: Prng): QueryId {
  const queryId = parseQueryId(`q-${randomText(prng, 20)}`);
  if (queryId === undefined) throw new TypeError("a query's id has the form of one");
  return queryId;
}

/** The span ends with the stream, whoever ends it. */
async function* spanned(
  stream: AsyncIterable<Uint8Array>,
  span: QuerySpan,
  failure: () => { readonly code: string; readonly message: string } | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } finally {
    span.end(failure());
  }
}

/** Throws at once for what cannot be watched, so that the caller hears it before the stream begins. */
function watchCatalog(
  { store }: PortsConfig,
  request: WatchRequest,
  signal: AbortSignal,
): AsyncIterable<WatchMessage> {
  if (store === undefined) {
    throw new OperatingError("unsupported", "never", "this process has no store to watch", {
      hint: "Ask a coordinator.",
    });
  }
  const { fromRevision } = request;
  return asMessages(watch(store, { ...selectOf(request), fromRevision, signal }));
}

async function* asMessages(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchMessage> {
  for await (const event of events) {
    if (event.type === "SNAPSHOT") yield { ...event, data: event.data.map(watchedRow) };
    else if (event.data === undefined) yield event;
    else yield { ...event, data: watchedRow(event.data) };
  }
}

function selectOf({ table, select }: WatchRequest): WatchSelect {
  if (select !== undefined) return parseWatchSelect(select);
  if (table !== undefined && isWatchedTable(table)) return { table, columns: undefined, where: [] };
  const known = Object.keys(watchedTables).join(", ");
  throw new OperatingError(
    "bad_request",
    "never",
    table === undefined
      ? "table: or select is needed"
      : `table: ${JSON.stringify(table)} cannot be watched`,
    { hint: `These can: ${known}.` },
  );
}
