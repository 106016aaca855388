/**
 * Makes a checkpoint complete: one transaction inserts its row, commits what Lake sinks prepared,
 * pins the snapshots that Lake sources go on from, and ends the row of failures. It fails when the
 * query has a newer epoch, or this process no lease, so an older one completes nothing (SD27).
 */
import { sql } from "kysely";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx, LeaseGrant } from "../../../../ground/store/index.ts";
import { keyGroupCount } from "../../engine/core/index.ts";
import { hashPlan, type Plan } from "../../language/core/index.ts";
import { type Manifest, manifestVersion, type Prepared } from "../../run/core/index.ts";
import { commitPrepared, type StreamLake } from "../../run/index.ts";
import type { CheckpointedFragment } from "../core/query-checkpoints.ts";
import { dropOldCheckpoints, pinSources } from "./kept-checkpoints.ts";

export interface RecordCheckpoint {
  readonly lake: Pick<StreamLake, "catalog" | "clock" | "objects" | "prng" | "store">;
  readonly lease: () => LeaseGrant | undefined;
  /** Runs the transaction under the lease, alone or with others of this moment [SD48]. */
  readonly write: (body: (tx: CatalogTx) => Promise<void>) => Promise<void>;
  readonly queryId: string;
  readonly epoch: number;
  readonly checkpoint: number;
  readonly plan: Plan;
  readonly fragments: readonly CheckpointedFragment[];
  readonly durationMs: number;
  /** The newest request for a savepoint that it answers; `undefined`: it is none. */
  readonly savepoint: number | undefined;
}

export async function recordCheckpoint(options: RecordCheckpoint): Promise<void> {
  const { lake, queryId, epoch, checkpoint, fragments, lease, write } = options;
  const manifest = manifestOf(options);
  let free: readonly string[] = [];
  const prepared: Prepared = new Map(fragments.flatMap((each) => [...each.prepared]));
  await commitPrepared(lake, {
    prepared,
    token: `stream-${queryId}-${checkpoint}-${epoch}`,
    message: `checkpoint ${checkpoint} of the query ${queryId}`,
    mayBeCommittedElsewhere: true, // By the next leader: workers say what they prepared again.
    transaction: async (body) => {
      if (lease() === undefined) throw notOurs("this process does not lead any more");
      await write(body);
    },
    also: async (tx) => {
      if (!(await insertRow(tx, options, manifest))) return false;
      const { catalog } = lake;
      const keptMax = options.plan.settings.checkpointsKept ?? 1;
      const isApart = options.savepoint !== undefined || keptMax > 1;
      await pinSources(tx, { catalog, queryId, plan: options.plan }, manifest, isApart);
      free = await dropOldCheckpoints(tx, queryId, keptMax);
      return true;
    },
  });
  await deleteObjects(lake, free);
}

/** Nobody refers to them any more. What cannot be deleted now stays, and takes room only. */
export async function deleteObjects(
  { objects }: Pick<RecordCheckpoint["lake"], "objects">,
  paths: readonly string[],
): Promise<void> {
  if (paths.length > 0) await objects.delete(paths).catch(() => undefined);
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
  { queryId, epoch, checkpoint, durationMs, savepoint }: RecordCheckpoint,
  manifest: Manifest,
): Promise<boolean> {
  const query = await tx.db
    .selectFrom("queries")
    .select(["epoch", "failures_in_a_row"])
    .select((select) =>
      select
        .selectFrom("query_checkpoints")
        .select(({ fn }) => fn.max("checkpoint").as("newest"))
        .where("query_id", "=", queryId)
        .as("newest"),
    )
    .where("query_id", "=", queryId)
    .executeTakeFirst();
  if (query?.epoch !== epoch) throw notOurs(`the query ${queryId} has a newer epoch`);
  if ((query.newest ?? 0) >= checkpoint) return false;
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
      savepoint: savepoint ?? null,
    })
    .execute();
  const news = {
    ...(query.failures_in_a_row > 0 ? { failures_in_a_row: 0 } : {}),
    ...(savepoint === undefined ? {} : { savepoints_taken: savepoint }),
  };
  if (Object.keys(news).length > 0) await tx.update("queries", queryId, news);
  return true;
}

function notOurs(why: string): OperatingError {
  return new OperatingError("conflict", "never", `the checkpoint counts for nothing: ${why}`);
}
