/**
 * The only statements that change the state of a query or of a fragment. Each writes the state that
 * it leaves beside the one that it enters, which the store checks (SC1); a fragment that ends gives
 * its slot back in the same statement's transaction, once (SC2); a query's change is in its
 * history (SC3).
 */
import { sql } from "kysely";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import { type FragmentState, hasEnded, noState, type QueryState } from "../core/states.ts";
import { fragmentIdOf } from "../core/stored-plan.ts";
import type { FragmentRow, QueryRow } from "../core/tables.ts";
import { deleteSecrets } from "./stored-plans.ts";
import { readSuperseded, removeUnused } from "./supersede.ts";

/** The stream slots of a worker that said nothing of them. */
export const streamSlotsDefault = 1_000;

/** Inserts a query that is wanted to run and was not deployed yet. */
export async function insertQuery(
  tx: CatalogTx,
  query: Pick<QueryRow, "query_id" | "name" | "name_key" | "guarantee"> &
    Partial<Pick<QueryRow, "state_reason" | "is_preview">>,
): Promise<QueryRow> {
  const nowMs = await tx.nowMs();
  const row: QueryRow = {
    is_preview: 0,
    state: "PENDING",
    previous_state: noState,
    desired_state: "RUNNING",
    stop_mode: null,
    epoch: 1,
    state_reason: "accepted; not deployed yet",
    error_code: null,
    error_number: null,
    error_worker_id: null,
    failures_in_a_row: 0,
    superseded_by: null,
    created_at_ms: nowMs,
    state_changed_at_ms: nowMs,
    savepoints_asked: 0,
    savepoints_taken: 0,
    ...query,
  };
  await tx.insert("queries", row);
  await record(tx, row, noState, "PENDING", nowMs);
  return row;
}

/** What a change of state also sets. */
type QueryPatch = Partial<Omit<QueryRow, "query_id" | "state" | "previous_state">>;

/** The row after it. A query that is in the state already keeps it, and only the patch counts. */
export async function moveQuery(
  tx: CatalogTx,
  row: QueryRow,
  state: QueryState,
  patch: QueryPatch,
): Promise<QueryRow> {
  const isSame = row.state === state;
  const atMs = isSame ? row.state_changed_at_ms : await tx.nowMs();
  const changed = isSame
    ? patch
    : { ...patch, state, previous_state: row.state, state_changed_at_ms: atMs };
  const next = await tx.update("queries", row.query_id, changed);
  assert(next !== undefined, "a query that changes its state is there");
  const isAnew = next.epoch !== row.epoch;
  if (!isSame || isAnew) await record(tx, next, row.state, state, isAnew ? await tx.nowMs() : atMs);
  return next;
}

/**
 * Removes the row of a query, and with it the name's lock, or the wait of the query that takes its
 * place. All its fragments have ended. What was superseded, and only it still used, goes as well.
 */
export async function removeQuery(tx: CatalogTx, row: QueryRow): Promise<void> {
  assert(row.state === "STOPPED", "only a query that has stopped is removed");
  const fragments = await tx.db
    .selectFrom("query_fragments")
    .select(["fragment_id", "state"])
    .where("query_id", "=", row.query_id)
    .execute();
  for (const { fragment_id, state } of fragments) {
    assert(hasEnded(state), "the fragments of a query that is removed have ended");
    await tx.remove("query_fragments", fragment_id);
  }
  await deleteSecrets(tx, row.query_id);
  const superseded = await readSuperseded(tx, row.query_id);
  await tx.remove("queries", row.query_id);
  await removeUnused(tx, superseded);
  await record(tx, row, row.state, null, await tx.nowMs());
  if (row.superseded_by !== null) await tellSuccessor(tx, row);
}

/** Changes the query's row, so that the reconcilers look at the query again. */
async function tellSuccessor(tx: CatalogTx, { query_id, superseded_by }: QueryRow): Promise<void> {
  const successor = await tx.db
    .selectFrom("queries")
    .selectAll()
    .where("query_id", "=", superseded_by ?? "")
    .executeTakeFirst();
  if (successor === undefined) return;
  const state_reason = `the query ${query_id}, which it replaces, is gone`;
  await tx.update("queries", successor.query_id, { state_reason });
}

type FragmentPatch = Partial<Pick<FragmentRow, "state_reason">>;

/** The row after it. */
export async function moveFragment(
  tx: CatalogTx,
  row: FragmentRow,
  state: FragmentState,
  patch: FragmentPatch = {},
): Promise<FragmentRow> {
  const givesBack = row.holds_slot === 1 && hasEnded(state);
  if (givesBack && !(await inherit(tx, row))) await changeSlotsUsed(tx, row.worker_id, -1);
  const slot = givesBack ? { holds_slot: 0 } : {};
  const isSame = row.state === state;
  const moved = isSame
    ? {}
    : { state, previous_state: row.state, state_changed_at_ms: await tx.nowMs() };
  const next = await tx.update("query_fragments", row.fragment_id, { ...patch, ...moved, ...slot });
  assert(next !== undefined, "a fragment that changes its state is there");
  return next;
}

/** Where a fragment runs in a new epoch. */
export interface FragmentPlace {
  readonly workerId: string;
  readonly epoch: number;
  readonly reason: string;
}

/**
 * Gives the fragment a slot of the worker, in the place of the one that it holds, and begins anew.
 * Throws `InsufficientCapacity` when the worker has no slot left.
 */
export async function placeFragment(
  tx: CatalogTx,
  row: FragmentRow,
  { workerId, epoch, reason }: FragmentPlace,
): Promise<FragmentRow> {
  assert(epoch > row.epoch, "a fragment is placed anew in a newer epoch");
  if (row.holds_slot === 1) await changeSlotsUsed(tx, row.worker_id, -1);
  await takeSlot(tx, workerId);
  const next = await tx.update("query_fragments", row.fragment_id, {
    worker_id: workerId,
    epoch,
    state: "PENDING",
    previous_state: row.state === "PENDING" ? row.previous_state : row.state,
    state_reason: reason,
    holds_slot: 1,
    state_changed_at_ms: await tx.nowMs(),
  });
  assert(next !== undefined, "a fragment that is placed anew is there");
  return next;
}

/** Inserts the fragment of a new query, with a slot of its worker. Throws as `placeFragment`. */
export async function insertFragment(
  tx: CatalogTx,
  fragment: Pick<FragmentRow, "query_id" | "fragment" | "worker_id" | "is_pinned" | "epoch">,
): Promise<void> {
  await takeSlot(tx, fragment.worker_id);
  await tx.insert("query_fragments", {
    ...fragment,
    fragment_id: fragmentIdOf(fragment.query_id, fragment.fragment),
    state: "PENDING",
    previous_state: noState,
    state_reason: "not deployed yet",
    holds_slot: 1,
    state_changed_at_ms: await tx.nowMs(),
  });
}

/**
 * Inserts the fragment of a query that takes the place of another one, which still holds a slot of
 * the worker: that slot becomes this fragment's when it is given back.
 */
export async function insertHeir(
  tx: CatalogTx,
  fragment: Pick<FragmentRow, "query_id" | "fragment" | "worker_id" | "is_pinned" | "epoch">,
): Promise<void> {
  await tx.insert("query_fragments", {
    ...fragment,
    fragment_id: fragmentIdOf(fragment.query_id, fragment.fragment),
    state: "PENDING",
    previous_state: noState,
    state_reason: "not deployed yet; it gets a slot of the query that it replaces",
    holds_slot: 0,
    state_changed_at_ms: await tx.nowMs(),
  });
}

/** Whether a fragment of the query's successor that waits for a slot of this worker has it now. */
async function inherit(tx: CatalogTx, { query_id, worker_id }: FragmentRow): Promise<boolean> {
  const heir = await lastSuccessor(tx, query_id);
  if (heir === undefined) return false;
  const waiting = await tx.db
    .selectFrom("query_fragments")
    .select("fragment_id")
    .where("query_id", "=", heir)
    .where("worker_id", "=", worker_id)
    .where("holds_slot", "=", 0)
    .where("state", "=", "PENDING")
    .orderBy("fragment_id")
    .limit(1)
    .executeTakeFirst();
  if (waiting === undefined) return false;
  await tx.update("query_fragments", waiting.fragment_id, { holds_slot: 1 });
  return true;
}

/** The newest query in a chain of replacements. */
async function lastSuccessor({ db }: CatalogTx, queryId: string): Promise<string | undefined> {
  let last = queryId;
  for (;;) {
    const row = await db
      .selectFrom("queries")
      .select("superseded_by")
      .where("query_id", "=", last)
      .executeTakeFirst();
    const next = row?.superseded_by;
    if (next === null || next === undefined || next === last) break;
    last = next;
  }
  return last === queryId ? undefined : last;
}

async function takeSlot(tx: CatalogTx, workerId: string): Promise<void> {
  await tx.db
    .insertInto("stream_workers")
    .values({ worker_id: workerId, label: null, slots: streamSlotsDefault, slots_used: 0 })
    .onConflict((conflict) => conflict.column("worker_id").doNothing())
    .execute();
  const { slots, slots_used } = await tx.db
    .selectFrom("stream_workers")
    .select(["slots", "slots_used"])
    .where("worker_id", "=", workerId)
    .executeTakeFirstOrThrow();
  if (slots_used >= slots) {
    throw new OperatingError(
      "InsufficientCapacity",
      "backoff",
      `all ${slots} stream slots of the worker ${workerId} are taken`,
      { hint: "Drop queries, or give the worker more slots." },
    );
  }
  await changeSlotsUsed(tx, workerId, 1);
}

/** Adds to the slots that a worker's fragments hold. The store refuses more than there are. */
async function changeSlotsUsed({ db }: CatalogTx, workerId: string, count: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable("stream_workers")
    .set({ slots_used: sql`slots_used + ${count}` })
    .where("worker_id", "=", workerId)
    .executeTakeFirstOrThrow();
  assert(numUpdatedRows === 1n, "a worker whose slots are counted has a row");
}

async function record(
  { db }: CatalogTx,
  row: QueryRow,
  from: string,
  to: QueryState | null,
  atMs: number,
): Promise<void> {
  const { last } = await db
    .selectFrom("query_history")
    .select(({ fn }) => fn.max("number").as("last"))
    .where("query_id", "=", row.query_id)
    .executeTakeFirstOrThrow();
  await db
    .insertInto("query_history")
    .values({
      query_id: row.query_id,
      number: (last ?? 0) + 1,
      query_name: row.name,
      epoch: row.epoch,
      from_state: from,
      to_state: to,
      reason: row.state_reason,
      at_ms: atMs,
    })
    .execute();
}
