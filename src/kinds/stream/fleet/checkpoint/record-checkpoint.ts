/**
 * Makes a checkpoint complete: one transaction inserts its row, commits what Lake sinks prepared,
 * pins the snapshots that Lake sources go on from, and ends the row of failures. It fails when the
 * query has a newer epoch, or this process no lease, so an older one completes nothing (SD27).
 */
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, LeaseGrant, Tx } from "../../../../ground/store/index.ts";
import { keyGroupCount } from "../../engine/core/index.ts";
import { hashPlan, type Plan } from "../../language/core/index.ts";
import {
  type Manifest,
  type ManifestFragment,
  manifestVersion,
  type Prepared,
  pinOf,
} from "../../run/core/index.ts";
import { commitPrepared, type StreamLake } from "../../run/index.ts";
import type { CheckpointedFragment } from "../core/query-checkpoints.ts";

export interface RecordCheckpoint {
  readonly lake: Pick<StreamLake, "catalog" | "clock" | "objects" | "prng" | "store">;
  readonly lease: () => LeaseGrant | undefined;
  readonly queryId: string;
  readonly epoch: number;
  readonly checkpoint: number;
  readonly plan: Plan;
  readonly fragments: readonly CheckpointedFragment[];
  readonly durationMs: number;
}

export async function recordCheckpoint(options: RecordCheckpoint): Promise<void> {
  const { lake, queryId, epoch, checkpoint, fragments, lease } = options;
  const manifest = manifestOf(options);
  let before: readonly string[] = [];
  const prepared: Prepared = new Map(fragments.flatMap((each) => [...each.prepared]));
  await commitPrepared(lake, {
    prepared,
    token: `stream-${queryId}-${checkpoint}-${epoch}`,
    message: `checkpoint ${checkpoint} of the query ${queryId}`,
    transaction: async (body) => {
      const grant = lease();
      if (grant === undefined) throw notOurs("this process does not lead any more");
      await lake.store.catalogTransaction(body, grant);
    },
    also: async (tx) => {
      before = await objectsOf(tx, queryId);
      if (!(await insertRow(tx, options, manifest))) return false;
      await pinSources(tx, options, manifest.fragments);
      return true;
    },
  });
  const kept = new Set(pathsOf(manifest));
  await deleteObjects(
    lake,
    before.filter((path) => !kept.has(path)),
  );
}

/** The objects that complete checkpoints of the query refer to. */
export async function objectsOf({ db }: Tx, queryId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("query_checkpoints")
    .select("manifest")
    .where("query_id", "=", queryId)
    .execute();
  return rows.flatMap((row) => pathsOf(JSON.parse(row.manifest) as Manifest));
}

/** Nobody refers to them any more. What cannot be deleted now stays, and takes room only. */
export async function deleteObjects(
  { objects }: Pick<RecordCheckpoint["lake"], "objects">,
  paths: readonly string[],
): Promise<void> {
  if (paths.length > 0) await objects.delete(paths).catch(() => undefined);
}

function pathsOf({ fragments }: Manifest): readonly string[] {
  return fragments.flatMap(({ objects }) => objects.map(({ path }) => path));
}

function manifestOf({ epoch, checkpoint, plan, fragments }: RecordCheckpoint): Manifest {
  return {
    version: manifestVersion,
    planHash: hashPlan(plan),
    parallelism: plan.settings.parallelism,
    keyGroups: keyGroupCount,
    checkpoint,
    epoch,
    fragments: fragments.map(({ state }) => state),
  };
}

/** `false`: a commit whose answer was lost, said again. */
async function insertRow(
  tx: CatalogTx,
  { queryId, epoch, checkpoint, durationMs }: RecordCheckpoint,
  manifest: Manifest,
): Promise<boolean> {
  const query = await tx.db
    .selectFrom("queries")
    .select(["epoch", "failures_in_a_row"])
    .where("query_id", "=", queryId)
    .executeTakeFirst();
  if (query?.epoch !== epoch) throw notOurs(`the query ${queryId} has a newer epoch`);
  const known = await tx.db
    .selectFrom("query_checkpoints")
    .select("checkpoint")
    .where("query_id", "=", queryId)
    .where("checkpoint", ">=", checkpoint)
    .executeTakeFirst();
  if (known !== undefined) return false;
  const objects = manifest.fragments.flatMap((each) => each.objects);
  await tx.db
    .insertInto("query_checkpoints")
    .values({
      query_id: queryId,
      checkpoint,
      epoch,
      manifest: JSON.stringify(manifest),
      size_bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      duration_ms: Math.max(0, Math.round(durationMs)),
      completed_at_ms: sql<number>`now_ms()`,
    })
    .execute();
  await tx.db
    .deleteFrom("query_checkpoints")
    .where("query_id", "=", queryId)
    .where("checkpoint", "<", checkpoint)
    .execute();
  if (query.failures_in_a_row > 0) await tx.update("queries", queryId, { failures_in_a_row: 0 });
  return true;
}

async function pinSources(
  tx: CatalogTx,
  { lake, queryId, plan }: RecordCheckpoint,
  fragments: readonly ManifestFragment[],
): Promise<void> {
  for (const { id, op } of plan.nodes) {
    if (op.kind !== "source" || op.type !== "Lake") continue;
    const said = fragments.find(({ positions }) => positions[`${id}`] !== undefined);
    const pin = pinOf(said?.positions[`${id}`]);
    if (pin === undefined) continue;
    const cursor = `stream-${queryId}-${id}`;
    await lake.catalog.pinIn(tx, cursor, pin.table as TableId, pin.snapshot as SnapshotId);
  }
}

function notOurs(why: string): OperatingError {
  return new OperatingError("conflict", "never", `the checkpoint counts for nothing: ${why}`);
}
