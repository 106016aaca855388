/**
 * REFRESH … WAIT: waits until the table's data is newer than the request, or cannot become so
 * (TG14).
 */

import type { TableId } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { TableGraph } from "../core/index.ts";
import { type DynamicTableRow, isStopped, readGraph, type TableNode } from "../store/table-rows.ts";

export interface AskedRefresh {
  readonly tableId: TableId;
  /** The time of the request, by the database's clock. */
  readonly requestedAtMs: number;
  readonly waitMsMax: number;
}

/** What the table waits for. Throws `query_failed` with the reason if its refresh failed. */
export async function lookForRefresh(
  tx: Tx,
  { tableId, requestedAtMs, waitMsMax }: AskedRefresh,
): Promise<OperatingError | undefined> {
  const graph = await readGraph(tx);
  const row = graph.get(tableId)?.row;
  if (row === undefined) throw failed("the table was dropped or replaced");
  if ((row.data_time_ms ?? 0) > requestedAtMs) return undefined;
  const stopped = findStopper(graph, row, await readPending(tx));
  if (stopped !== undefined) {
    const which = stopped === row ? "" : `${stopped.dynamic_table}, which it reads, is `;
    throw failed(`${which}${stopped.status}: ${stopped.status_reason}`);
  }
  const reason = row.last_error ?? row.wait_reason;
  const why = reason === "" ? "" : `: ${reason}`;
  const message = `the refresh has not ended within ${waitMsMax} ms, and goes on${why}`;
  return new OperatingError("deadline_exceeded", "backoff", message);
}

function failed(reason: string): OperatingError {
  return new OperatingError("query_failed", "never", `the refresh failed: ${reason}`);
}

/** Ids of the tables with pending work. */
export async function readPending({ db }: Tx): Promise<ReadonlySet<number>> {
  const rows = await db.selectFrom("pending_refreshes").select("table_id").execute();
  return new Set(rows.map(({ table_id }) => table_id));
}

/**
 * The table, of this one and its sources, that keeps it from being refreshed; undefined without
 * one. A stopped table with pending work is being tried again and does not count.
 */
export function findStopper(
  graph: TableGraph<TableNode>,
  row: DynamicTableRow,
  pending: ReadonlySet<number>,
): DynamicTableRow | undefined {
  const above = graph.upstreamOf(row.table_id as TableId).map((each) => each.row);
  return [...above, row].find((each) => isRoot(each) && !pending.has(each.table_id));
}

/** Whether the table itself was stopped, not as a reader of another. */
function isRoot(row: DynamicTableRow): boolean {
  return isStopped(row) && row.suspended_by === null;
}
