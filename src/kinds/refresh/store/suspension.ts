/**
 * Taking tables out of the schedule, and putting them back.
 *
 *   SU1  What reads a suspended table is suspended with it, and its reason names that table.
 *   SU2  Resuming a table resumes those that were suspended only because of it, unless something else that they read is suspended.
 *   SU3  A table that reads a suspended one is not resumed: its sources would never come.
 *   SU4  Who refreshes a table that is suspended loses the claim: nothing more is published.
 *   SU5  A table that is suspended for its failures heals: it is tried again now and then, and a
 *        success resumes it, with those that were suspended because of it. One that a person
 *        suspended is left alone.
 */

import type { TableId } from "../../../data/lake/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../ground/store/index.ts";
import type { TableGraph } from "../core/index.ts";
import { abandonTargets, addRequest, dropWork } from "./pending-work.ts";
import { notFailing, readGraph, requireRow, type TableNode } from "./table-rows.ts";

/**
 * Names of the tables that are suspended by it, itself first. Of its readers, one that is suspended
 * already is left as it is. `heals`: for its failures, which the caller has recorded (SU5).
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
    suspended_by: null, // Of its own: whatever else it followed, it stays when that is resumed.
    wait_reason: "",
    late_since_ms: null,
    ...(heals === undefined ? notFailing : {}),
  });
  const suspended = [row.dynamic_table];
  for (const below of graph.downstreamOf(tableId)) {
    if (below.row.status === "SUSPENDED") {
      await abandonTargets(tx, below.row); // It may have been on trial.
      continue;
    }
    await dropWork(tx, below.row);
    await tx.update("dynamic_tables", below.label, {
      status: "SUSPENDED",
      status_reason: `it reads ${row.dynamic_table}, which is suspended: ${reason}`,
      suspended_by: row.dynamic_table, // SU1
      wait_reason: "",
      late_since_ms: null,
      ...notFailing,
    });
    suspended.push(below.label);
  }
  return suspended;
}

/** Its definition, or a value of its sources, does not work. Its readers wait, and say for what. */
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

/**
 * Names of the tables that run again, itself first. Its failures are forgotten. The scheduler looks
 * at it afresh.
 */
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
    ); // SU3
  }
  await putBack(tx, { row, label: row.dynamic_table });
  return [row.dynamic_table, ...(await resumeFollowers(tx, tableId))];
}

/**
 * SU2. It runs again, or reads something else now: names of those below it that were suspended for
 * another's sake, read nothing that is suspended any more, and so run, too.
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
      // Still suspended, for another's sake from now on.
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

/** The first of what it reads that is suspended and not just resumed, roots before those that only follow. */
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
  // What was asked for when it was created is not there yet, and nobody may be due to ask again for
  // a long time.
  if (row.data_snapshot === null) await addRequest(tx, row, "INITIAL");
}
