/**
 * REFRESH … WAIT: until the table is of a time after the request, or it is certain that it will not
 * be.
 */

import type { TableId } from "../../../data/lake/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import type { TableGraph } from "../core/index.ts";
import { type DynamicTableRow, isStopped, readGraph, type TableNode } from "../store/table-rows.ts";

const lookMs = 250;

export interface AwaitRefresh {
  readonly tableId: TableId;
  /** By the database's clock. */
  readonly requestedAtMs: number;
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

type Progress =
  | { readonly kind: "fresh" }
  | { readonly kind: "stopped"; readonly reason: string }
  | { readonly kind: "waiting"; readonly reason: string };

/**
 * Throws `query_failed` with the reason where it failed, `deadline_exceeded` where it takes too
 * long.
 */
export async function awaitRefresh(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  asked: AwaitRefresh,
): Promise<void> {
  const { waitMsMax, signal } = asked;
  const endMs = clock.nowMs() + waitMsMax;
  for (;;) {
    const poked = Promise.withResolvers<void>();
    const leave = store.onPoke(poked.resolve);
    try {
      const progress = await store.read((tx) => readProgress(tx, asked));
      if (progress.kind === "fresh") return;
      if (progress.kind === "stopped") {
        throw new OperatingError("query_failed", "never", `the refresh failed: ${progress.reason}`);
      }
      if (signal.aborted) throw new OperatingError("cancelled", "never", "the statement");
      const leftMs = endMs - clock.nowMs();
      if (leftMs <= 0) {
        const why = progress.reason === "" ? "" : `: ${progress.reason}`;
        const message = `the refresh has not ended within ${waitMsMax} ms, and goes on${why}`;
        throw new OperatingError("deadline_exceeded", "backoff", message);
      }
      await Promise.race([poked.promise, sleep(clock, Math.min(lookMs, leftMs), signal)]);
    } finally {
      leave();
    }
  }
}

async function readProgress(tx: Tx, { tableId, requestedAtMs }: AwaitRefresh): Promise<Progress> {
  const graph = await readGraph(tx);
  const row = graph.get(tableId)?.row;
  if (row === undefined) return { kind: "stopped", reason: "the table was dropped or replaced" };
  if ((row.data_time_ms ?? 0) > requestedAtMs) return { kind: "fresh" };
  const stopped = findStopper(graph, row, await readPending(tx));
  if (stopped !== undefined) {
    const which = stopped === row ? "" : `${stopped.dynamic_table}, which it reads, is `;
    return { kind: "stopped", reason: `${which}${stopped.status}: ${stopped.status_reason}` };
  }
  return { kind: "waiting", reason: row.last_error ?? row.wait_reason };
}

/** The tables that have something to do. */
export async function readPending({ db }: Tx): Promise<ReadonlySet<number>> {
  const rows = await db.selectFrom("pending_refreshes").select("table_id").execute();
  return new Set(rows.map(({ table_id }) => table_id));
}

/**
 * The table, of this one and those that it reads, for whose sake it is not refreshed; `undefined`:
 * there is none. What is stopped and still has something to do is being tried again.
 */
export function findStopper(
  graph: TableGraph<TableNode>,
  row: DynamicTableRow,
  pending: ReadonlySet<number>,
): DynamicTableRow | undefined {
  const above = graph.upstreamOf(row.table_id as TableId).map((each) => each.row);
  return [...above, row].find((each) => isRoot(each) && !pending.has(each.table_id));
}

/** Stopped for a reason of its own. */
function isRoot(row: DynamicTableRow): boolean {
  return isStopped(row) && row.suspended_by === null;
}
