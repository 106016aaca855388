/** Takes tables out of the schedule and puts them back. Rules: TG5, TG6, TC17, TC20. */

import type { TableId } from "../../../data/lake/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { TableGraph } from "../core/index.ts";
import { abandonTargets, addRequest, dropWork } from "./pending-work.ts";
import { notFailing, readGraph, requireRow, type TableNode } from "./table-rows.ts";

/**
 * Returns the names of the tables that it suspends, itself first. A reader that is already
 * suspended stays as it is. `heals`: for failures, which the caller has recorded (TC20).
 */
export async function suspendTable(
  tx: CatalogTx,
  tableId: TableId,
  reason: string,
  heals?: "heals",
): Promise<readonly string[]> {
  const row = await requireRow(tx, tableId);
  const graph = await readGraph(tx);
  await dropWork(tx, row);
  await tx.update("dynamic_tables", row.dynamic_table, {
    status: "SUSPENDED",
    status_reason: reason,
    suspended_by: null, // It stays suspended when tables that it reads are resumed.
    wait_reason: "",
    late_since_ms: null,
    ...(heals === undefined ? notFailing : {}),
  });
  const suspended = [row.dynamic_table];
  for (const below of graph.downstreamOf(tableId)) {
    if (below.row.status === "SUSPENDED") {
      await abandonTargets(tx, below.row); // It may have been tried again (TC20).
      continue;
    }
    await dropWork(tx, below.row);
    await tx.update("dynamic_tables", below.label, {
      status: "SUSPENDED",
      status_reason: `it reads ${row.dynamic_table}, which is suspended: ${reason}`,
      suspended_by: row.dynamic_table, // TG5
      wait_reason: "",
      late_since_ms: null,
      ...notFailing,
    });
    suspended.push(below.label);
  }
  return suspended;
}

/** Its definition, or a value of its sources, does not work. Its readers wait and say for what. */
export async function markFailed(tx: CatalogTx, tableId: TableId, reason: string): Promise<void> {
  const row = await requireRow(tx, tableId);
  await dropWork(tx, row);
  await tx.update("dynamic_tables", row.dynamic_table, {
    status: "FAILED",
    status_reason: reason,
    suspended_by: null,
    wait_reason: "",
    late_since_ms: null,
  });
  for (const below of (await readGraph(tx)).downstreamOf(tableId)) {
    await abandonTargets(tx, below.row);
  }
}

/** Returns the names of the resumed tables, itself first. Forgets its failures. */
export async function resumeTable(tx: CatalogTx, tableId: TableId): Promise<readonly string[]> {
  const row = await requireRow(tx, tableId);
  const graph = await readGraph(tx);
  if (row.status !== "SUSPENDED" && row.status !== "FAILED") return [];
  const above = suspendedAbove(graph, tableId, new Set());
  if (above !== undefined) {
    throw new OperatingError(
      "bad_request",
      "never",
      `${row.dynamic_table} reads ${above}, which is suspended`,
      { hint: `Resume ${above} first: it takes those along that were suspended because of it.` },
    ); // TG6
  }
  await putBack(tx, { row, label: row.dynamic_table });
  return [row.dynamic_table, ...(await resumeFollowers(tx, tableId))];
}

/**
 * Resumes tables below it that were suspended because of another and now read no suspended table
 * (TG6). Called when a table is resumed or its sources change. Returns their names.
 */
export async function resumeFollowers(tx: CatalogTx, tableId: TableId): Promise<readonly string[]> {
  const graph = await readGraph(tx);
  const resumed = new Set([tableId]);
  const names: string[] = [];
  for (const below of graph.downstreamOf(tableId)) {
    if (below.row.status !== "SUSPENDED" || below.row.suspended_by === null) continue;
    const other = suspendedAbove(graph, below.tableId, resumed);
    if (other !== undefined) {
      if (below.row.suspended_by === other) continue;
      // Still suspended, but now because of another table.
      const root = graph.upstreamOf(below.tableId).find(({ label }) => label === other);
      await tx.update("dynamic_tables", below.label, {
        suspended_by: other,
        status_reason: `it reads ${other}, which is suspended: ${root?.row.status_reason ?? ""}`,
      });
      continue;
    }
    await putBack(tx, below);
    resumed.add(below.tableId);
    names.push(below.label);
  }
  return names;
}

/** The first table above it that is suspended and not in `resumed`, roots before their readers. */
function suspendedAbove(
  graph: TableGraph<TableNode>,
  tableId: TableId,
  resumed: ReadonlySet<TableId>,
): string | undefined {
  const found = graph
    .upstreamOf(tableId)
    .find((above) => above.row.status === "SUSPENDED" && !resumed.has(above.tableId));
  return found?.label;
}

async function putBack(
  tx: CatalogTx,
  { row, label }: Pick<TableNode, "row" | "label">,
): Promise<void> {
  await tx.update("dynamic_tables", label, {
    status: row.data_snapshot === null ? "INITIALIZING" : "ACTIVE",
    status_reason: "",
    suspended_by: null,
    failures_in_a_row: 0,
    last_error: null,
    ...notFailing,
  });
  // Its first contents were requested at creation, and it may not become due for a long time.
  if (row.data_snapshot === null) await addRequest(tx, row, "INITIAL");
}
