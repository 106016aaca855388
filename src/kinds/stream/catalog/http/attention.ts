/** Continuous queries that need attention: failed ones, and ones that do not get on. */
import type { AttentionItem } from "../../../../ground/http/index.ts";
import type { QueryBody } from "../core/bodies.ts";
import type { StreamCatalogPort } from "./stream-routes.ts";

/** How long a query may take from one state to the next before somebody should look. */
const stuckMsMin = 60_000;

const passing: ReadonlySet<QueryBody["state"]> = new Set([
  "PENDING",
  "DEPLOYING",
  "STOPPING",
  "STOPPED",
  "TERMINATING",
]);

/** `nowMs` is by the database's clock. */
export async function readQueriesAttention(
  catalog: Pick<StreamCatalogPort, "read">,
  nowMs: () => Promise<number>,
): Promise<readonly AttentionItem[]> {
  const queries = (await catalog.read("query", {})) as readonly QueryBody[];
  const now = await nowMs();
  return queries.flatMap((query): AttentionItem[] => {
    const { query_id: id, name, state, state_reason: reason, state_changed_at_ms } = query;
    const of = { kind: "stream_query", id, name: name ?? id, reason };
    const since_ms = state_changed_at_ms;
    if (state === "FAILED") return [{ ...of, severity: "failed", state: "failed", since_ms }];
    if (!passing.has(state) || now - state_changed_at_ms < stuckMsMin) return [];
    const shown = `${state.toLowerCase()} for long`;
    return [{ ...of, severity: "degraded", state: shown, since_ms }];
  });
}
