/** Dynamic tables and their refreshes as result rows. */
import type { LocalAnswer } from "../../../data/statements/core/index.ts";
import type { TableOverview } from "../store/overview.ts";
import type { RefreshHistoryRecord } from "../store/refresh-history.ts";

export function overviewAnswer(tables: readonly TableOverview[]): LocalAnswer {
  return {
    columns: texts("name state lag target mode reason last_refresh next error"),
    rows: tables.map((table) => [
      table.label,
      stateOf(table),
      table.lagMs === undefined ? null : duration(table.lagMs),
      targetOf(table),
      table.mode,
      table.modeReason,
      table.lastRefresh === undefined
        ? null
        : `${table.lastRefresh.action ?? table.lastRefresh.state} ${timeText(table.lastRefresh.atMs)}`,
      table.nextDueMs === undefined ? null : timeText(table.nextDueMs),
      table.lastError ?? null,
    ]),
  };
}

export function historyAnswer(records: readonly RefreshHistoryRecord[]): LocalAnswer {
  return {
    columns: texts(
      "name number state action trigger started duration inserted deleted worker parts reason error",
    ),
    rows: records.map((record) => [
      record.dynamicTable,
      record.number,
      record.state,
      record.action ?? null,
      record.trigger,
      timeText(record.startedAtMs),
      duration(record.endedAtMs - record.startedAtMs),
      record.rowsInserted,
      record.rowsDeleted,
      record.workerId,
      record.partCount === 1
        ? null
        : `${record.partCount}, by ${record.workerCount} ${record.workerCount === 1 ? "worker" : "workers"}`,
      record.reason === "" ? null : record.reason,
      record.error?.message ?? null,
    ]),
  };
}

function stateOf({
  status,
  statusReason,
  activity,
  parts,
  lateSinceMs,
  waitReason,
}: TableOverview): string {
  if (status === "SUSPENDED" || status === "FAILED") return `${status}: ${statusReason}`;
  const late = lateSinceMs === undefined ? "" : ", late";
  const waits = waitReason === "" ? "" : `, ${waitReason}`;
  const split = parts === undefined ? "" : ` (${parts.doneCount} of ${parts.count} parts)`;
  return `${status}${activity === "idle" ? "" : `, ${activity}`}${split}${late}${waits}`;
}

function targetOf({ targetLag, effectiveLagMs }: TableOverview): string {
  if (targetLag.kind === "time") return duration(targetLag.ms);
  return effectiveLagMs === undefined ? "DOWNSTREAM" : `DOWNSTREAM (${duration(effectiveLagMs)})`;
}

function texts(names: string): LocalAnswer["columns"] {
  return names.split(" ").map((name) => ({ name, type: "VARCHAR" }));
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 6_000) / 10} min`;
  return `${Math.round(ms / 360_000) / 10} h`;
}
