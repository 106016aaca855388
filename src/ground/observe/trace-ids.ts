/**
 * Derives a query's trace from the query's id alone. So the control session needs no field for it,
 * the cores know nothing of tracing, and a worker computes the same parent span as the API.
 */
import { createHash } from "node:crypto";
import type { QueryId } from "../kernel/ids.ts";

export interface TraceIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the whole query. */
  readonly spanId: string;
}

export function traceIdsOf(queryId: QueryId): TraceIds {
  const digest = createHash("sha256").update(`capstan query ${queryId}`).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** The caller's trace from its `traceparent` header; undefined without a valid one. */
export function parseTraceparent(header: string | undefined): TraceIds | undefined {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(header ?? "");
  const [, traceId, spanId] = match ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId };
}
