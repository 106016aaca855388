/** The queries of this process, each with its span. */
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { QueryId } from "../../../ground/kernel/ids.ts";
import type { QuerySpan, Tracing } from "../../../ground/observe/index.ts";
import type { ApiWorkManager } from "../../../ground/work/index.ts";
import type { StatementOptions, StatementRouter } from "../statement-router.ts";
import { queryBody } from "./query-bodies.ts";
import type { QueryRecordBody } from "./schemas.ts";

export interface QueriesPort {
  /** Rejects until the answer has begun; later failures are in the stream. */
  sql(
    sql: string,
    options: Required<StatementOptions> & { readonly traceparent: string | undefined },
    signal: AbortSignal,
  ): Promise<{ readonly stream: AsyncIterable<Uint8Array> }>;
  /** Running queries first, then ended ones, newest first. */
  list(): readonly QueryRecordBody[];
  /** False when no such query is running here. */
  cancel(queryId: QueryId): boolean;
}

export interface QueriesPortConfig {
  readonly manager: ApiWorkManager;
  readonly statements: Pick<StatementRouter, "run">;
  readonly tracing: Tracing;
  /** Throws `not_leader`, naming the leader, where no statement can run. */
  readonly checkLeads: () => Promise<void>;
}

export function createQueriesPort(config: QueriesPortConfig): QueriesPort {
  const { manager, statements, tracing } = config;
  return {
    async sql(sql, { traceparent, ...options }, signal) {
      await config.checkLeads();
      const { queryId } = options;
      const span = tracing.startQuery(queryId, "sql", traceparent);
      try {
        const { stream } = await statements.run(sql, options, signal);
        return { stream: spanned(stream, span, () => manager.get(queryId)?.error) };
      } catch (thrown) {
        const code = thrown instanceof OperatingError ? thrown.code : "internal";
        span.end({ code, message: messageOf(thrown) });
        throw thrown;
      }
    },
    list: () => manager.list().map(queryBody),
    cancel: (queryId) => manager.cancel(queryId, "cancelled by request"),
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
