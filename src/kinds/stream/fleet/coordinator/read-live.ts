/** What a query does at this moment: the catalog's rows, and what its workers have told. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { LeaseGrant, Store, Tx } from "../../../../ground/store/index.ts";
import { readQueryDetail, readStoredPlan } from "../../catalog/index.ts";
import { describeLive, type LiveCheckpointBody, type LiveQueryBody } from "../core/live-body.ts";
import type { LiveFigures } from "../core/live-figures.ts";

export interface LiveReaderOptions {
  readonly store: Store;
  readonly lease: () => LeaseGrant | undefined;
  readonly figures: LiveFigures;
  readonly clock: Clock;
}

const checkpointsMax = 20;

/** Throws `DoesNotExist`, and `not_leader` on a process that receives no figures. */
export async function readLive(options: LiveReaderOptions, name: string): Promise<LiveQueryBody> {
  const { store, lease, figures, clock } = options;
  if (lease() === undefined) {
    throw new OperatingError("not_leader", "backoff", "this process does not hold the lease");
  }
  const { detail, plan, checkpoints } = await store.read(async (tx) => {
    const found = await readQueryDetail(tx, name);
    return {
      detail: found,
      plan: await readStoredPlan(tx, found.query_id),
      checkpoints: await readCheckpoints(tx, found.query_id),
    };
  });
  const { query_id: queryId, epoch, deployed } = detail;
  const nowMs = clock.nowMs();
  return describeLive({
    ...{ queryId, epoch, plan, checkpoints, nowMs },
    fragments: deployed,
    wallMs: clock.wallMs(),
    liveOf: (fragment) => figures.of(queryId, epoch, fragment, nowMs),
  });
}

/** The newest first. */
async function readCheckpoints({ db }: Tx, queryId: string): Promise<LiveCheckpointBody[]> {
  const rows = await db
    .selectFrom("query_checkpoints")
    .select(["checkpoint", "epoch", "size_bytes", "duration_ms", "completed_at_ms", "savepoint"])
    .where("query_id", "=", queryId)
    .orderBy("checkpoint", "desc")
    .limit(checkpointsMax)
    .execute();
  return rows.map(({ size_bytes, completed_at_ms, savepoint, ...row }) => ({
    ...row,
    begun_at_ms: completed_at_ms - row.duration_ms,
    bytes: size_bytes,
    savepoint: savepoint !== null,
  }));
}
