/** Queries of this process, each with its span. */
import type { QueriesPort } from "../api/index.ts";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import type { QuerySpan } from "../observe/index.ts";
import { runSql } from "../queries/index.ts";
import { notLeader } from "./not-leader.ts";
import { type PortsConfig, roleOf } from "./ports-config.ts";
import { queryBody } from "./query-bodies.ts";
import { waitingWork } from "./waiting-work.ts";

export function createQueriesPort(config: PortsConfig): QueriesPort {
  const { node, engine, statements, tracing, clock, prng, store, leaseName, health } = config;
  const { manager } = node;
  return {
    async sql(sql, { queryId, timeoutMs, traceparent, mayWrite, uploadId }, signal) {
      // A standby has no sessions. A leader in doubt about its lease still has, and they need no lease.
      const standsBy = roleOf(node) === "standby";
      if (standsBy && !node.pool.views().some(({ live }) => live !== undefined)) {
        throw await notLeader(store, leaseName, health);
      }
      const span = tracing.startQuery(queryId, "sql", traceparent);
      try {
        const options = timeoutMs === undefined ? { queryId } : { queryId, timeoutMs };
        const result =
          statements === undefined
            ? await runSql({ manager, engine, clock, prng }, sql, options, signal)
            : await statements.run(sql, { ...options, mayWrite, uploadId }, signal);
        return { stream: spanned(result.stream, span, () => manager.get(queryId)?.error) };
      } catch (thrown) {
        const code = thrown instanceof OperatingError ? thrown.code : "internal";
        span.end({ code, message: messageOf(thrown) });
        throw thrown;
      }
    },
    list: () => manager.list().map(queryBody),
    cancel: (queryId) => manager.cancel(queryId, "cancelled by request"),
    queue: () => waitingWork(node, config.metricsParts.promql.waiting()),
  };
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
