/**
 * When a refresh has to begin so that the table's lag stays within its target. Contents that a refresh publishes are as of its
 * beginning; so from one beginning to the end of the next refresh no more than the target may pass.
 *
 *   D1  Due is data time plus target, less how long the refresh is expected to take, less a margin. That is the sum of durations along
 *       the path of its sources; or, when more tables than workers want a refresh at the same time, how long it took of late
 *       until its contents were there.
 *   D2  A table that cannot hold its target is refreshed back to back, yet never oftener than four times in a target: one whose
 *       refresh takes longer than its target must not keep the scheduler spinning.
 *   D3  A DOWNSTREAM table is never due by itself. Its readers' refreshes include it, and the strictest of them is its target.
 *   D4  Tables that read the same dynamic tables are cheapest in one round: one that is due within a quarter of its target goes along
 *       with a round that refreshes what it reads. From then on they have the same data time, and are due together.
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

/** How long it takes to refresh it and all that it reads, side by side where possible. */
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

/** `undefined`: never by itself. */
export function dueAtMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.targetLag.kind === "downstream") return undefined; // D3
  const lagMs = table.targetLag.ms;
  const marginMs = Math.min(marginMsMax, lagMs * marginShare);
  const expectedMs = Math.max(expectedPathMs(graph, table), table.expectedResponseMs);
  const periodMs = lagMs - expectedMs - marginMs; // D1
  const boundedMs = Math.max(periodMs, lagMs * periodShareMin, periodMsMin); // D2
  return Math.floor(dataTimeMs(table) + boundedMs);
}

/** D4: from when on it goes along with others. */
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
 * Up to when its contents are known to be what its definition gives; `undefined`: it has none. A
 * DOWNSTREAM table whose sources did not change is not refreshed with its readers, and is as fresh
 * as they are.
 */
export function freshAtMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.dataTimeMs === undefined || table.targetLag.kind === "time") return table.dataTimeMs;
  const readers = graph.downstreamOf(table.tableId);
  return Math.max(table.dataTimeMs, ...readers.map((reader) => reader.dataTimeMs ?? 0));
}

/** What its lag should be: its own target, or the strictest of those who read it. `undefined`: nobody needs it. */
export function effectiveLagMs(graph: Graph, table: ScheduledTable): number | undefined {
  if (table.targetLag.kind === "time") return table.targetLag.ms;
  const lags = graph
    .downstreamOf(table.tableId)
    .flatMap(({ targetLag }) => (targetLag.kind === "time" ? [targetLag.ms] : []));
  return lags.length === 0 ? undefined : Math.min(...lags);
}
