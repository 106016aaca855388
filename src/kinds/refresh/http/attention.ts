/** Dynamic tables that need attention. */
import type { AttentionItem } from "../../../ground/http/index.ts";
import type { TablesPort } from "./tables-port.ts";

export async function readTablesAttention(
  tables: Pick<TablesPort, "listDynamic">,
): Promise<readonly AttentionItem[]> {
  const { items } = await tables.listDynamic();
  return items.flatMap((table): AttentionItem[] => {
    const { name, status, late_since_ms, last_error } = table;
    const reason = table.status_reason || last_error || table.wait_reason;
    const of = { kind: "dynamic_table", id: name, name, reason } as const;
    const since_ms = table.last_refresh?.at_ms ?? table.created_at_ms;
    if (status === "FAILED") return [{ ...of, severity: "failed", state: "failed", since_ms }];
    if (status === "SUSPENDED") {
      return [{ ...of, severity: "degraded", state: "suspended", since_ms: null }];
    }
    if (late_since_ms !== null) {
      return [{ ...of, severity: "degraded", state: "late", since_ms: late_since_ms }];
    }
    if (table.failures_in_a_row === 0) return [];
    return [{ ...of, severity: "degraded", state: "retrying", since_ms }];
  });
}
