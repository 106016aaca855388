/** PromQL of this process, for the HTTP surface. A standby has no workers: it says whom to ask instead. */
import type { HealthBoard } from "../kernel/health.ts";
import type { QueryId } from "../kernel/ids.ts";
import type { QuerySpan, Tracing } from "../observe/index.ts";
import type { PromqlObserver, PromqlService } from "../queries/index.ts";
import type { Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import { notLeader } from "./not-leader.ts";
import { roleOf } from "./ports-config.ts";

export function createPromqlPort(
  service: PromqlService,
  config: {
    readonly node: ControllerNode;
    readonly store: Store | undefined;
    readonly leaseName: string;
    readonly health?: HealthBoard;
  },
): PromqlService {
  const { node, store, leaseName, health } = config;
  // A leader in doubt about its lease still has sessions, and they need no lease.
  const check = async (): Promise<void> => {
    const standsBy = roleOf(node) === "standby";
    if (!standsBy || node.pool.views().some(({ live }) => live !== undefined)) return;
    throw await notLeader(store, leaseName, health);
  };
  return {
    async query(request, signal) {
      await check();
      return await service.query(request, signal);
    },
    async stream(request, signal) {
      await check();
      return await service.stream(request, signal);
    },
    async explain(request, signal) {
      await check();
      return await service.explain(request, signal);
    },
    async series(request, signal) {
      await check();
      return await service.series(request, signal);
    },
    async labelNames(request, signal) {
      await check();
      return await service.labelNames(request, signal);
    },
    async labelValues(name, request, signal) {
      await check();
      return await service.labelValues(name, request, signal);
    },
    format: (query, signal) => service.format(query, signal),
    parse: (query, signal) => service.parse(query, signal),
  };
}

/** A span for every query, beside what `metrics` counts. */
export function observePromql(metrics: PromqlObserver, tracing: Tracing): PromqlObserver {
  const spans = new Map<QueryId, QuerySpan>();
  return {
    queryStarted(queryId, op, traceparent) {
      spans.set(queryId, tracing.startQuery(queryId, `promql ${op}`, traceparent));
      metrics.queryStarted(queryId, op, traceparent);
    },
    queryEnded(ended) {
      const { queryId, error } = ended;
      const told = error === undefined ? undefined : { code: error, message: error };
      spans.get(queryId)?.end(told);
      spans.delete(queryId);
      metrics.queryEnded(ended);
    },
  };
}
