/** Queries of a new table wait for its contents, or fail with the reason why none come (TG10). */

import type { TableId } from "../../../data/lake/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Tx } from "../../../ground/store/index.ts";
import { readGraph } from "../store/table-rows.ts";
import { findStopper, readPending } from "./look-for-refresh.ts";

/** Why the first of these tables without contents has none yet. Throws if none will come. */
export async function lookForContents(
  tx: Tx,
  tableIds: readonly TableId[],
): Promise<OperatingError | undefined> {
  const missing = await findEmpty(tx, tableIds);
  if (missing === undefined) return undefined;
  if (!missing.isComing) throw nothingComes(missing);
  const last = missing.reason === "" ? "" : `; its last attempt: ${missing.reason}`;
  const message = `${missing.name} has no contents yet: its first refresh has not ended${last}`;
  return new OperatingError("deadline_exceeded", "backoff", message);
}

interface EmptyTable {
  readonly name: string;
  readonly status: string;
  /** Its first refresh was requested, and nothing stops it. */
  readonly isComing: boolean;
  readonly reason: string;
}

async function findEmpty(tx: Tx, tableIds: readonly TableId[]): Promise<EmptyTable | undefined> {
  const empty = await tx.db
    .selectFrom("dynamic_tables")
    .select("table_id")
    .where("table_id", "in", tableIds)
    .where("data_snapshot", "is", null)
    .orderBy("table_id")
    .executeTakeFirst();
  const graph = empty && (await readGraph(tx));
  const row = graph?.get(empty?.table_id as TableId)?.row;
  if (graph === undefined || row === undefined) return undefined;
  const pending = await readPending(tx);
  // A table that was suspended because of another is resumed with it.
  const isAsked = pending.has(row.table_id) || row.suspended_by !== null;
  return {
    name: row.dynamic_table,
    status: row.status,
    // A failed refresh is repeated as long as nothing stops it.
    isComing: isAsked && findStopper(graph, row, pending) === undefined,
    reason: row.last_error ?? (row.status_reason || row.wait_reason),
  };
}

function nothingComes({ name, status, reason }: EmptyTable): OperatingError {
  const message = `dynamic table ${name} has no contents yet`;
  if (reason !== "") return new OperatingError("conflict", "never", `${message}: ${reason}`);
  const hint =
    status === "SUSPENDED"
      ? `ALTER DYNAMIC TABLE ${name} RESUME`
      : `REFRESH DYNAMIC TABLE ${name} fills it at once`;
  return new OperatingError("conflict", "never", `${message}, and is ${status}`, { hint });
}
