/** Checks I22 and I40: dynamic tables run and are fresh again after the faults. */
import type { Finding } from "./end-check.ts";
import { isRunning, type TablesState } from "./tables-state.ts";

/** Undefined when no table is stopped for its failures, except for readers of a suspended table. */
export function findStopped(state: TablesState): Finding | undefined {
  const byId = new Map(state.tables.values().map((row) => [row.table_id, row]));
  const isBlocked = (tableId: number): boolean =>
    (state.sources.get(tableId) ?? []).some((source) => {
      const above = byId.get(source);
      return above !== undefined && (!isRunning(above) || isBlocked(source));
    });
  for (const row of state.tables.values()) {
    if (isRunning(row) || row.failing_since_ms === null || isBlocked(row.table_id)) continue;
    const detail = `${row.dynamic_table} stays ${row.status}: ${row.status_reason}`;
    return { invariant: "I40", detail };
  }
  return undefined;
}

/** Undefined when every table is fresh. */
export function findStale(state: TablesState, sinceMs: number): Finding | undefined {
  const finding = (detail: string): Finding => ({ invariant: "I22", detail });
  for (const row of state.tables.values()) {
    const { dynamic_table: name, status, status_reason, data_time_ms } = row;
    if (status !== "ACTIVE") return finding(`${name} is ${status}: ${status_reason}`);
    if ((data_time_ms ?? 0) <= sinceMs) {
      return finding(`${name} is of ${data_time_ms} ms, all was well at ${Math.round(sinceMs)} ms`);
    }
    const pending = state.pendings.get(name);
    if (pending !== undefined && pending.request_seq > pending.done_seq) {
      return finding(`${name} still owes a refresh`);
    }
  }
  return undefined;
}
