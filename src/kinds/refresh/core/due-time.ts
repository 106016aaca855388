/**
 * Decides when a refresh must begin so that the table's lag stays within its target. A refresh
 * publishes contents as of its beginning, so the time from one beginning to the end of the next
 * refresh must not exceed the target lag. Rules: TS1 to TS3, TS18.
 */
import type { TableId } from "../../../data/lake/core/index.ts";
import type { TableGraph } from "./graph.ts";
import type { ScheduledTable } from "./schedule-state.ts";

const marginShare = 0.1;
const marginMsMax = 5_000;
const periodMsMin = 50;
const periodShareMin = 0.25;
const joinShare = 0.25;

type Graph = TableGraph<ScheduledTable>;

/** The expected duration of its refresh and of those of its sources, in parallel where possible. */
export function expectedPathMs(graph: Graph, table: ScheduledTable): number {
  const known = new Map<TableId, number>();
  const pathOf = (node: ScheduledTable): number => {
    const found = known.get(node.tableId);
    if (found !== undefined) return found;
    known.set(node.tableId, 0);
    const before = graph.dynamicSourcesOf(node.tableId).map(pathOf);
    const path = node.expectedDurationMs + Math.max(0, ...before);
    known.set(node.tableId, path);
    return path;
  };
  return pathOf(table);
}

/** Undefined for a table that is never due by itself. */
export function dueAtMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.targetLag.kind === "downstream") return undefined; // TS3
  const lagMs = table.targetLag.ms;
  const marginMs = Math.min(marginMsMax, lagMs * marginShare);
  const expectedMs = Math.max(expectedPathMs(graph, table), table.expectedResponseMs);
  const periodMs = lagMs - expectedMs - marginMs; // TS1
  const boundedMs = Math.max(periodMs, lagMs * periodShareMin, periodMsMin); // TS2
  return Math.floor(dataTimeMs(table) + boundedMs);
}

/** From this time on it joins a round of others (TS18). */
export function joinsAtMs(graph: Graph, table: ScheduledTable): number | undefined {
  const dueMs = dueAtMs(graph, table);
  if (dueMs === undefined || table.targetLag.kind === "downstream") return undefined;
  const lagMs = table.targetLag.ms;
  return Math.max(dueMs - lagMs * joinShare, dataTimeMs(table) + lagMs * periodShareMin);
}

function dataTimeMs(table: ScheduledTable): number {
  return table.dataTimeMs ?? table.createdAtMs;
}

/** When its lag exceeds its target, unless it is refreshed before. */
export function lateAtMs(table: ScheduledTable): number | undefined {
  if (table.targetLag.kind === "downstream") return undefined;
  return dataTimeMs(table) + table.targetLag.ms;
}

/**
 * The time up to which its contents are known to match its definition; undefined without contents.
 * A DOWNSTREAM table whose sources did not change is not refreshed with its readers, and is as
 * fresh as they are.
 */
export function freshAtMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.dataTimeMs === undefined || table.targetLag.kind === "time") return table.dataTimeMs;
  const readers = graph.downstreamOf(table.tableId);
  return Math.max(table.dataTimeMs, ...readers.map((reader) => reader.dataTimeMs ?? 0));
}

/** Its target lag, or its readers' strictest for DOWNSTREAM. Undefined when nobody needs it. */
export function effectiveLagMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.targetLag.kind === "time") return table.targetLag.ms;
  const lags = graph
    .downstreamOf(table.tableId)
    .flatMap(({ targetLag }) => (targetLag.kind === "time" ? [targetLag.ms] : []));
  return lags.length === 0 ? undefined : Math.min(...lags);
}
