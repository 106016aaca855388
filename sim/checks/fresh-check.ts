/** I22: once faults heal, every dynamic table runs, nothing is owed to anybody, and all are of a time after the healing. */
import type { Finding } from "./end-check.ts";
import type { TablesState } from "./tables-state.ts";

/** `undefined`: so it is. */
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
