/** Writes what was decided about a query, if the catalog is still as it was (SD20). */
import { assert } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import { type FragmentRow, hasEnded } from "../../catalog/core/index.ts";
import { moveFragment, moveQuery, placeFragment, removeQuery } from "../../catalog/index.ts";
import { unpinQuery } from "../checkpoint/kept-checkpoints.ts";
import type { QueryChange } from "../core/decide-query.ts";
import { isSameQuery, type QueryRows, readQuery } from "./read-query.ts";

/**
 * Finds workers for the fragments of a query that is deployed again: one for each, by its name.
 * Both throw `PlacementError` or `InsufficientCapacity` when there is none for one of them.
 */
export interface Placer {
  /** Those on lost workers move, unless they are pinned. */
  move(tx: CatalogTx, rows: QueryRows, lostWorkers: readonly string[]): Promise<Places>;
  /** No fragment holds a slot; all are placed. */
  placeAll(tx: CatalogTx, rows: QueryRows): Promise<Places>;
}

export type Places = ReadonlyMap<string, string>;

/** `false`: the catalog has changed meanwhile, and nothing was written. */
export async function applyChanges(
  tx: CatalogTx,
  decidedFor: QueryRows,
  changes: readonly QueryChange[],
  placer: Placer,
): Promise<boolean> {
  const rows = await readQuery(tx, decidedFor.query.query_id);
  if (!isSameQuery(decidedFor, rows)) return false;
  let current = rows as QueryRows;
  for (const change of changes) current = await apply(tx, current, change, placer);
  return true;
}

async function apply(
  tx: CatalogTx,
  rows: QueryRows,
  change: QueryChange,
  placer: Placer,
): Promise<QueryRows> {
  switch (change.kind) {
    case "fragment":
      return await applyToFragment(tx, rows, change);
    case "query":
      return await applyToQuery(tx, rows, change);
    case "redeploy":
      return await redeploy(tx, rows, change, placer);
    case "resume":
      return await resume(tx, rows, placer);
    case "owe":
      await owe(tx, rows, change.workerId, change.epoch);
      return rows;
    case "cleanedUp":
      await tx.db
        .deleteFrom("query_cleanups")
        .where("query_id", "=", rows.query.query_id)
        .where("worker_id", "=", change.workerId)
        .execute();
      return rows;
    case "remove":
      await removeQuery(tx, rows.query);
      await unpinQuery(tx, rows.query.query_id);
      return rows;
  }
}

type Change<Kind extends QueryChange["kind"]> = Extract<QueryChange, { readonly kind: Kind }>;

async function applyToFragment(
  tx: CatalogTx,
  rows: QueryRows,
  { fragment, state, reason }: Change<"fragment">,
): Promise<QueryRows> {
  const row = rows.fragments.find((each) => each.fragment === fragment);
  assert(row !== undefined, "a change is about a fragment of its query");
  const next = await moveFragment(tx, row, state, { state_reason: reason });
  return { ...rows, fragments: replaced(rows.fragments, next) };
}

async function applyToQuery(
  tx: CatalogTx,
  rows: QueryRows,
  { state, reason, error }: Change<"query">,
): Promise<QueryRows> {
  const told =
    error === undefined
      ? {}
      : {
          error_code: error.code,
          error_number: error.number ?? null,
          error_worker_id: error.workerId ?? null,
        };
  const query = await moveQuery(tx, rows.query, state, { state_reason: reason, ...told });
  return { ...rows, query };
}

async function redeploy(
  tx: CatalogTx,
  rows: QueryRows,
  { reason, lostWorkers, isFailure }: Change<"redeploy">,
  placer: Placer,
): Promise<QueryRows> {
  const { query } = rows;
  // Also of those that are not registered yet: the command may be on its way.
  const owing = rows.fragments.filter(({ state }) => !hasEnded(state));
  for (const { worker_id, epoch } of owing) await owe(tx, rows, worker_id, epoch);
  const epoch = query.epoch + 1;
  const places = await placer.move(tx, rows, lostWorkers);
  const fragments = await beginAnew(tx, rows, places, { epoch, reason });
  const next = await moveQuery(tx, query, "DEPLOYING", {
    epoch,
    state_reason: reason,
    failures_in_a_row: query.failures_in_a_row + (isFailure ? 1 : 0),
  });
  return { ...rows, query: next, fragments };
}

async function resume(tx: CatalogTx, rows: QueryRows, placer: Placer): Promise<QueryRows> {
  const [epoch, reason] = [rows.query.epoch + 1, "resumed by request"];
  const fragments = await beginAnew(tx, rows, await placer.placeAll(tx, rows), { epoch, reason });
  const patch = { epoch, state_reason: reason, failures_in_a_row: 0 };
  return { ...rows, query: await moveQuery(tx, rows.query, "PENDING", patch), fragments };
}

async function beginAnew(
  tx: CatalogTx,
  rows: QueryRows,
  places: Places,
  { epoch, reason }: { readonly epoch: number; readonly reason: string },
): Promise<readonly FragmentRow[]> {
  const begun: FragmentRow[] = [];
  for (const row of rows.fragments) {
    const workerId = places.get(row.fragment) ?? row.worker_id;
    begun.push(await placeFragment(tx, row, { workerId, epoch, reason }));
  }
  return begun;
}

async function owe(
  { db }: CatalogTx,
  { query }: QueryRows,
  worker_id: string,
  epoch: number,
): Promise<void> {
  await db
    .insertInto("query_cleanups")
    .values({ query_id: query.query_id, worker_id, epoch })
    .onConflict((conflict) => conflict.columns(["query_id", "worker_id"]).doUpdateSet({ epoch }))
    .execute();
}

function replaced(rows: readonly FragmentRow[], next: FragmentRow): readonly FragmentRow[] {
  return rows.map((row) => (row.fragment_id === next.fragment_id ? next : row));
}
