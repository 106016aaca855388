/** A person who asks for a table that was just created means its contents: they are waited for, or it is said why none will come. */
import { type Clock, sleep } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type { TableId } from "../../lake/index.ts";
import type { Store, Tx } from "../../store/index.ts";

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
      const message = `${missing.name} has no contents yet: its first refresh has not ended`;
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

async function findEmpty(
  { db }: Tx,
  tableIds: readonly TableId[],
): Promise<EmptyTable | undefined> {
  const row = await db
    .selectFrom("dynamic_tables as t")
    .leftJoin("pending_refreshes as p", "p.table_id", "t.table_id")
    .select(["t.dynamic_table", "t.status", "t.status_reason", "t.wait_reason", "t.last_error"])
    .select("p.table_id as pending_id")
    .where("t.table_id", "in", tableIds)
    .where("t.data_snapshot", "is", null)
    .orderBy("t.table_id")
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const isRunning = row.status === "INITIALIZING" || row.status === "ACTIVE";
  const reason = row.last_error ?? (row.status_reason || row.wait_reason);
  return {
    name: row.dynamic_table,
    status: row.status,
    isComing: isRunning && row.pending_id !== null && reason === "",
    reason,
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
