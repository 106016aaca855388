/** Shows rows of `dynamic_tables`: a table's state, and what just happened to it. Pure. */

import type { Column } from "../../../ground/command/index.ts";
import { formatDuration } from "../../../ground/command/index.ts";

export type Row = Readonly<Record<string, unknown>>;

export const tableColumns: readonly Column[] = [
  { title: "NAME", align: "left" },
  { title: "STATE", align: "left" },
  { title: "LAG", align: "right" },
  { title: "TARGET", align: "right" },
  { title: "MODE", align: "left" },
  { title: "LAST REFRESH", align: "left" },
  { title: "REASON", align: "left" },
];

/** Whether the row has all needed columns: a user may have selected fewer. */
export function isTableRow(row: Row): boolean {
  return ["dynamic_table", "status", "data_time_ms", "target_lag_ms", "mode"].every(
    (column) => column in row,
  );
}

export function tableCells(row: Row, nowMs: number): readonly string[] {
  const dataMs = numberOf(row.data_time_ms);
  const lastMs = numberOf(row.last_refresh_at_ms);
  return [
    textOf(row.dynamic_table),
    stateOf(row),
    dataMs === undefined ? "-" : formatDuration(Math.max(0, nowMs - dataMs)),
    targetOf(row),
    textOf(row.mode),
    lastMs === undefined ? "-" : `${outcomeOf(row)} ${clockOf(lastMs)}`,
    reasonOf(row),
  ];
}

function stateOf(row: Row): string {
  const status = textOf(row.status);
  if (status === "SUSPENDED" || status === "FAILED") return status;
  if (numberOf(row.late_since_ms) !== undefined) return `${status}, late`;
  return row.target_snapshot === null ? status : `${status}, due`;
}

/** What changed, in words; empty for unimportant changes. */
export function describeTableChange(before: Row | undefined, after: Row): readonly string[] {
  if (before === undefined) return [`${textOf(after.mode)}, target ${targetOf(after)}`];
  const changed = (column: string): boolean => before[column] !== after[column];
  const said: string[] = [];
  if (changed("status")) {
    const reason = reasonOf(after);
    const arrow = `${textOf(before.status)} → ${textOf(after.status)}`;
    said.push(reason === "" ? arrow : `${arrow}: ${reason}`);
  }
  if (changed("last_refresh_at_ms") && numberOf(after.last_refresh_at_ms) !== undefined) {
    said.push(refreshed(after));
  }
  if (changed("late_since_ms")) {
    const lateMs = numberOf(after.late_since_ms);
    said.push(lateMs === undefined ? "on time again" : `late since ${clockOf(lateMs)}`);
  }
  if (changed("target_lag_ms")) said.push(`target ${targetOf(before)} → ${targetOf(after)}`);
  if (changed("mode")) said.push(`mode ${textOf(before.mode)} → ${textOf(after.mode)}`);
  if (changed("wait_reason") && textOf(after.wait_reason) !== "") {
    said.push(`waits: ${textOf(after.wait_reason)}`);
  }
  if (changed("definition")) said.push("a new definition");
  if (changed("target_snapshot") && after.target_snapshot !== null) said.push("refresh due");
  return said;
}

function refreshed(row: Row): string {
  const error = textOf(row.last_error);
  if (row.last_refresh_state !== "SUCCEEDED") {
    return `refresh ${outcomeOf(row)}${error === "" ? "" : `: ${error}`}`;
  }
  const dataMs = numberOf(row.data_time_ms);
  const atMs = numberOf(row.last_refresh_at_ms) ?? 0;
  const lag = dataMs === undefined ? "" : `, lag ${formatDuration(Math.max(0, atMs - dataMs))}`;
  return row.last_refresh_action === "NO_DATA"
    ? "nothing new in its sources"
    : `refreshed ${outcomeOf(row)}${lag}`;
}

function outcomeOf(row: Row): string {
  if (row.last_refresh_state !== "SUCCEEDED") return textOf(row.last_refresh_state);
  return textOf(row.last_refresh_action);
}

function reasonOf(row: Row): string {
  const isStopped = row.status === "SUSPENDED" || row.status === "FAILED";
  return isStopped ? textOf(row.status_reason) : textOf(row.wait_reason) || textOf(row.last_error);
}

function targetOf(row: Row): string {
  const targetMs = numberOf(row.target_lag_ms);
  return targetMs === undefined ? "DOWNSTREAM" : formatDuration(targetMs);
}

function clockOf(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
