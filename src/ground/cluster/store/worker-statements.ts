/** The statements on the workers table, each under its own name. */
import type { Selectable } from "kysely";
import type { WorkerId } from "../../kernel/ids.ts";
import type { CatalogTx, Tx, WorkersTable } from "../../store/index.ts";
import { reasons } from "../core/decide-membership.ts";

export type WorkerRow = Selectable<WorkersTable>;

export async function selectWorker(tx: Tx, workerId: WorkerId): Promise<WorkerRow | undefined> {
  return await tx.db
    .selectFrom("workers")
    .selectAll()
    .where("worker_id", "=", workerId)
    .executeTakeFirst();
}

/** Sorted by name, without `after` itself. */
export async function selectWorkersAfter(
  tx: Tx,
  after: string,
  limit: number,
): Promise<readonly WorkerRow[]> {
  return await tx.db
    .selectFrom("workers")
    .selectAll()
    .where("worker_id", ">", after)
    .orderBy("worker_id")
    .limit(limit)
    .execute();
}

export async function selectAllWorkers(tx: Tx): Promise<readonly WorkerRow[]> {
  return await tx.db.selectFrom("workers").selectAll().orderBy("worker_id").execute();
}

/**
 * A coordinator that has just taken over has heard from no worker, whatever its predecessor wrote.
 * In one transaction, so that no reader sees a mixture.
 */
export async function markAllUnreachable(tx: CatalogTx): Promise<number> {
  const active = await tx.db
    .selectFrom("workers")
    .select("worker_id")
    .where("state", "=", "ACTIVE")
    .orderBy("worker_id")
    .execute();
  const nowMs = await tx.nowMs();
  for (const { worker_id } of active) {
    await tx.update("workers", worker_id, {
      state: "UNREACHABLE",
      state_reason: reasons.takenOver,
      state_changed_at_ms: nowMs,
      accepting_work: 0,
      draining: 0,
    });
  }
  return active.length;
}
