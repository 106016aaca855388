/** An active worker is drained before it is dropped, if nothing refers to it (SC16). */
import { cancelDrain, requestDrain } from "../../../../ground/cluster/index.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { WorkerId } from "../../../../ground/kernel/ids.ts";
import {
  awaitState,
  type LeaseGrant,
  type Store,
  type Tx,
} from "../../../../ground/store/index.ts";
import { findWorker } from "../core/find-worker.ts";
import { readWorkerNames } from "../store/read-workers.ts";
import { refuseUsedWorker } from "../store/references.ts";

const drainMsMax = 10_000;

/** Takes the wish back, where the worker is not dropped after all. */
export type UndoDrain = () => Promise<void>;

export async function drainWorker(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  lease: LeaseGrant,
  name: string,
  signal: AbortSignal,
): Promise<UndoDrain> {
  const active = await store.read((tx) => readActive(tx, name));
  if (active === undefined) return async () => undefined;
  const { workerId, isAsked } = active;
  const undo = async (): Promise<void> => {
    if (!isAsked) await cancelDrain(store, lease, workerId).catch(() => undefined);
  };
  try {
    if (!isAsked) await requestDrain(store, lease, workerId);
    const look = async (tx: Tx) =>
      (await readActive(tx, name)) === undefined ? undefined : stillWorks(name);
    await awaitState({ store, clock }, { waitMsMax: drainMsMax, signal, look });
  } catch (thrown) {
    await undo();
    throw thrown;
  }
  return undo;
}

/** The worker if it takes work. Throws when something refers to it. */
async function readActive(
  tx: Tx,
  name: string,
): Promise<{ readonly workerId: WorkerId; readonly isAsked: boolean } | undefined> {
  const found = findWorker(await readWorkerNames(tx), name);
  if (found === undefined) return undefined;
  const { workerId } = found;
  await refuseUsedWorker(tx, workerId, `the worker ${name}`);
  const row = await tx.db
    .selectFrom("workers")
    .select(["state", "draining", "drain_requested"])
    .where("worker_id", "=", workerId)
    .executeTakeFirst();
  if (row?.state !== "ACTIVE" || row.draining === 1) return undefined;
  return { workerId: workerId as WorkerId, isAsked: row.drain_requested === 1 };
}

function stillWorks(name: string): OperatingError {
  const message = `the worker ${name} does not drain`;
  return new OperatingError("WorkerBusy", "backoff", message, { hint: "Try again." });
}
