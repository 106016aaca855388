/**
 * This process's PromQL for the HTTP API. A standby has no workers: it names the process to ask
 * instead.
 */
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { QuerySpan, Tracing } from "../../../ground/observe/index.ts";
import type { PromqlObserver, PromqlService } from "../run/index.ts";

/** `check` throws when the workers cannot be asked. */
export function askedOfLeader(service: PromqlService, check: () => Promise<void>): PromqlService {
  const checked =
    <Args extends readonly unknown[], Answer>(ask: (...asked: Args) => Promise<Answer>) =>
    async (...asked: Args): Promise<Answer> => {
      await check();
      return await ask(...asked);
    };
  return {
    query: checked((...asked) => service.query(...asked)),
    stream: checked((...asked) => service.stream(...asked)),
    explain: checked((...asked) => service.explain(...asked)),
    series: checked((...asked) => service.series(...asked)),
    labelNames: checked((...asked) => service.labelNames(...asked)),
    labelValues: checked((...asked) => service.labelValues(...asked)),
    format: (...asked) => service.format(...asked),
    parse: (...asked) => service.parse(...asked),
  };
}

/** Traces every query with a span, in addition to the `metrics`. */
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
