/** A person who asks for a table that was just created means its contents: they are waited for, or it is said why none will come. */

import type { TableId } from "../../../data/lake/index.ts";
import { type Clock, sleep } from "../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Store, Tx } from "../../../ground/store/index.ts";
import { readGraph } from "../store/table-rows.ts";
import { findStopper, readPending } from "./await-refresh.ts";

const lookMs = 250;

export interface AwaitContents {
  readonly tableIds: readonly TableId[];
  readonly waitMsMax: number;
  readonly signal: AbortSignal;
}

/** Whether it had to wait. */
export async function awaitContents(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { tableIds, waitMsMax, signal }: AwaitContents,
): Promise<boolean> {
  const endMs = clock.nowMs() + waitMsMax;
  for (let hasWaited = false; ; hasWaited = true) {
    const missing = await store.read((tx) => findEmpty(tx, tableIds));
    if (missing === undefined) return hasWaited;
    if (!missing.isComing) throw nothingComes(missing);
    if (signal.aborted) throw new OperatingError("cancelled", "never", "the statement");
    const leftMs = endMs - clock.nowMs();
    if (leftMs <= 0) {
      const last = missing.reason === "" ? "" : `; its last attempt: ${missing.reason}`;
      const message = `${missing.name} has no contents yet: its first refresh has not ended${last}`;
      throw new OperatingError("deadline_exceeded", "backoff", message);
    }
    const poked = Promise.withResolvers<void>();
    const leave = store.onPoke(poked.resolve);
    await Promise.race([poked.promise, sleep(clock, Math.min(lookMs, leftMs), signal)]);
    leave();
  }
}

interface EmptyTable {
  readonly name: string;
  readonly status: string;
  /** Its first refresh was asked for, and nothing speaks against it. */
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
  // What is suspended for another's sake runs again when that one does.
  const isAsked = pending.has(row.table_id) || row.suspended_by !== null;
  return {
    name: row.dynamic_table,
    status: row.status,
    // A refresh that failed is repeated as long as nothing stops it.
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
