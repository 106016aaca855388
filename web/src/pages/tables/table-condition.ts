/** Summarizes a dynamic table's fields in one word and one sentence. Pure. */
import type { DynamicTable } from "../../api/gen/types.ts";
import { formatLag } from "../../format.ts";

/** Sorted, the worst first. `retrying`: the last refresh failed, and another one follows. */
export const conditions = [
  "failed",
  "late",
  "retrying",
  "suspended",
  "refreshing",
  "new",
  "fresh",
] as const;
export type TableCondition = (typeof conditions)[number];

export function conditionOf(table: DynamicTable): TableCondition {
  if (table.status === "FAILED") return "failed";
  if (table.status === "SUSPENDED") return "suspended";
  if (table.late_since_ms !== null) return "late";
  if (table.failures_in_a_row > 0) return "retrying";
  if (table.activity === "refreshing") return "refreshing";
  return table.data_time_ms === null ? "new" : "fresh";
}

/** A lower number is worse. */
export function severityOf(table: DynamicTable): number {
  return conditions.indexOf(conditionOf(table));
}

export function lagOf({ data_time_ms }: DynamicTable, nowMs: number): number | undefined {
  return data_time_ms === null ? undefined : Math.max(0, nowMs - data_time_ms);
}

/** The used share of the target lag; undefined without contents or target. */
export function lagRatioOf(table: DynamicTable, nowMs: number): number | undefined {
  const lagMs = lagOf(table, nowMs);
  const targetMs = table.effective_target_lag_ms;
  return lagMs === undefined || targetMs === null ? undefined : lagMs / targetMs;
}

export function targetText({ target_lag_ms, effective_target_lag_ms }: DynamicTable): string {
  if (target_lag_ms !== null) return formatLag(target_lag_ms);
  return effective_target_lag_ms === null
    ? "downstream"
    : `downstream (${formatLag(effective_target_lag_ms)})`;
}

/** The reason for the condition, if there is one. */
export function reasonOf(table: DynamicTable): string {
  const stopped = table.status === "FAILED" || table.status === "SUSPENDED";
  if (stopped && table.status_reason !== "") return table.status_reason;
  if (table.wait_reason !== "") return table.wait_reason;
  if (table.failures_in_a_row > 0) return table.last_error ?? "";
  if (table.activity === "refreshing" && table.refreshed_by !== null) {
    return `on ${table.refreshed_by}`;
  }
  return "";
}
