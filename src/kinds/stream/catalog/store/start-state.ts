/**
 * Queries that go on from a checkpoint which is kept: the checkpoint becomes the newest one of the
 * query, so that its first deployment finds it as any later one does. Rules: SC52, SC53.
 */
import { pinIn, type SnapshotId, type TableId } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, Tx } from "../../../../ground/store/index.ts";
import { type Manifest, pinOf } from "../../run/core/index.ts";
import type { FromCheckpoint } from "../core/changes.ts";
import type { StoredPlan } from "../core/stored-plan.ts";
import type { QueryRow } from "../core/tables.ts";
import { takeOverState } from "../core/take-over-state.ts";
import type { Applying } from "./applying.ts";
import { doesNotExist, findQuery } from "./read-rows.ts";
import { readPlan } from "./stored-plans.ts";

export interface StartState {
  /** The query that the checkpoint was taken of. */
  readonly origin: QueryRow;
  readonly checkpoint: number;
  readonly manifest: Manifest;
  readonly sizeBytes: number;
  /** The first of the queries that share objects. */
  readonly family: string;
}

/** Throws `DoesNotExist`, and `conflict` where the state does not fit the plan. */
export async function findStartState(
  { tx }: Applying,
  { query, checkpoint }: FromCheckpoint,
  to: StoredPlan,
  replaced: string | undefined,
): Promise<StartState> {
  const origin = await findQuery(tx, query);
  if (origin === undefined) throw doesNotExist("query", query);
  const row = await requireCheckpoint(tx, origin, checkpoint);
  const { plan: from, family } = await readPlan(tx, origin.query_id);
  const manifest = takeOverState({
    ...{ manifest: JSON.parse(row.manifest) as Manifest, from: from.plan, to },
    replaces: origin.query_id === replaced,
    label: `the checkpoint ${checkpoint} of the query ${origin.name ?? origin.query_id}`,
  });
  return {
    ...{ origin, checkpoint, manifest, family: family ?? origin.query_id },
    sizeBytes: row.size_bytes,
  };
}

/** The new query has the state as its newest checkpoint, and pins what its Lake sources need. */
export async function insertStartState(
  tx: CatalogTx,
  queryId: string,
  plan: StoredPlan,
  { checkpoint, manifest, sizeBytes }: StartState,
): Promise<void> {
  const row = { query_id: queryId, checkpoint, epoch: 1, size_bytes: sizeBytes };
  await insertCheckpoint(tx, row, manifest);
  for (const { id, op } of plan.plan.nodes) {
    if (op.kind !== "source" || op.type !== "Lake") continue;
    const said = manifest.fragments.find(({ positions }) => positions[`${id}`] !== undefined);
    const pin = pinOf(said?.positions[`${id}`]);
    if (pin === undefined) continue;
    const cursor = `stream-${queryId}-${id}`;
    await pinIn(tx, cursor, pin.table as TableId, pin.snapshot as SnapshotId);
  }
}

/** RESUME QUERY q FROM CHECKPOINT n: an older checkpoint becomes the newest one again. */
export async function restoreCheckpoint(
  tx: CatalogTx,
  query: QueryRow,
  checkpoint: number,
): Promise<void> {
  if (query.state !== "PAUSED") {
    const shown = query.name ?? query.query_id;
    const message = `the query ${shown} is ${query.state}; only a paused query goes back to a checkpoint`;
    const hint = `PAUSE QUERY ${shown}, and resume it when it is PAUSED.`;
    throw new OperatingError("conflict", "never", message, { hint });
  }
  const row = await requireCheckpoint(tx, query, checkpoint);
  const { newest } = await tx.db
    .selectFrom("query_checkpoints")
    .select(({ fn }) => fn.max("checkpoint").as("newest"))
    .where("query_id", "=", query.query_id)
    .executeTakeFirstOrThrow();
  if (newest === checkpoint) return;
  const next = newest + 1;
  const { query_id, epoch } = query;
  await insertCheckpoint(
    tx,
    { query_id, checkpoint: next, epoch, size_bytes: row.size_bytes },
    { ...(JSON.parse(row.manifest) as Manifest), checkpoint: next },
  );
}

async function insertCheckpoint(
  tx: CatalogTx,
  row: {
    readonly query_id: string;
    readonly checkpoint: number;
    readonly epoch: number;
    readonly size_bytes: number;
  },
  manifest: Manifest,
): Promise<void> {
  const about = { duration_ms: 0, completed_at_ms: await tx.nowMs(), savepoint: null };
  await tx.db
    .insertInto("query_checkpoints")
    .values({ ...row, ...about, manifest: JSON.stringify(manifest) })
    .execute();
}

async function requireCheckpoint({ db }: Tx, query: QueryRow, checkpoint: number) {
  const row = await db
    .selectFrom("query_checkpoints")
    .select(["manifest", "size_bytes"])
    .where("query_id", "=", query.query_id)
    .where("checkpoint", "=", checkpoint)
    .executeTakeFirst();
  if (row !== undefined) return row;
  const shown = query.name ?? query.query_id;
  const message = `the query ${shown} has no checkpoint ${checkpoint}`;
  const hint = `SHOW CHECKPOINTS FOR ${shown} lists those that are kept.`;
  throw new OperatingError("DoesNotExist", "never", message, { hint });
}
