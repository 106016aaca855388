/** Workers as streams see them: addresses, labels, slots and links. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Tx } from "../../../../ground/store/index.ts";
import type { StreamWorkerBody } from "../core/bodies.ts";
import { findWorker, type NamedWorker } from "../core/find-worker.ts";
import { whyNoWorker } from "../core/why-no-worker.ts";
import { streamSlotsDefault } from "./move-rows.ts";

type WorkerCode = "WorkerDoesNotExistForPhysical" | "WorkerDoesNotExistForSink" | "UnreachableNode";

export async function readWorkerNames({ db }: Tx): Promise<readonly NamedWorker[]> {
  const rows = await db
    .selectFrom("workers")
    .leftJoin("stream_workers", "stream_workers.worker_id", "workers.worker_id")
    .select(["workers.worker_id", "host_name", "grpc_port", "label"])
    .orderBy("workers.worker_id")
    .execute();
  return rows.map(({ worker_id, host_name, grpc_port, label }) => ({
    workerId: worker_id,
    label: label ?? undefined,
    host: host_name,
    grpcPort: grpc_port,
  }));
}

/** The worker that a placement or a peer names (SC18). Throws `code` when there is none. */
export async function resolveWorker(tx: Tx, written: string, code: WorkerCode): Promise<string> {
  const workers = await readWorkerNames(tx);
  const found = findWorker(workers, written);
  if (found !== undefined) return found.workerId;
  const { message, hint } = whyNoWorker(workers, written);
  throw new OperatingError(code, "never", message, { hint });
}

export async function readWorkers(tx: Tx): Promise<readonly StreamWorkerBody[]> {
  const rows = await tx.db
    .selectFrom("workers")
    .leftJoin("stream_workers", "stream_workers.worker_id", "workers.worker_id")
    .selectAll("workers")
    .select(["label", "slots", "slots_used"])
    .orderBy("workers.worker_id")
    .execute();
  const links = await tx.db.selectFrom("network_links").selectAll().execute();
  const peers = Map.groupBy(links, ({ src_worker_id }) => src_worker_id);
  return rows.map((row) => ({
    worker_id: row.worker_id,
    label: row.label,
    host: row.host_name,
    grpc_port: row.grpc_port,
    data_port: row.data_port,
    state: row.state,
    state_reason: row.state_reason,
    draining: row.draining === 1 || row.drain_requested === 1,
    slots: row.slots ?? streamSlotsDefault,
    slots_used: row.slots_used ?? 0,
    peers: (peers.get(row.worker_id) ?? []).map(({ dst_worker_id }) => dst_worker_id).sort(),
  }));
}
