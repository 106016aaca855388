/** CREATE WORKER: a worker with its slots, its label and its links (SC16, SC17). */

import { registerWorkerIn } from "../../../../ground/cluster/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { type Incarnation, parseWorkerId } from "../../../../ground/kernel/ids.ts";
import type { ChangeAnswer } from "../core/bodies.ts";
import type { CreateWorker } from "../core/changes.ts";
import { findCycle } from "../core/check-links.ts";
import { type Applying, alreadyExists, type DialledWorker } from "./applying.ts";
import { resolveWorker } from "./read-workers.ts";

type Created = Extract<ChangeAnswer, { readonly kind: "created" }>;

export function addressOf({ host, grpcPort }: Pick<CreateWorker, "host" | "grpcPort">): string {
  return `${host}:${grpcPort}`;
}

/**
 * A worker that made itself known, and that no CREATE WORKER has described yet, is described by the
 * first one.
 */
export async function createWorker(applying: Applying, change: CreateWorker): Promise<Created> {
  const { dialled } = applying;
  const address = addressOf(change);
  const label = change.label ?? address;
  const existing = await findDescribed(applying, change, label);
  if (existing !== undefined) {
    const { worker_id } = existing;
    if (change.ifNotExists) return answer(worker_id, existing.label, true);
    throw alreadyExists(
      `the worker ${existing.label ?? worker_id}`,
      `DROP WORKER ${quoted(existing.label ?? worker_id)} makes room.`,
    );
  }
  const worker = dialled.get(address);
  if (worker === undefined) {
    throw new OperatingError("NetworkError", "backoff", `the worker at ${address} was not asked`);
  }
  const { workerId } = worker;
  // Before it is there itself: the hint of an unknown peer names others only.
  const peers = await peersOf(applying, change, { workerId, label });
  await register(applying, change, worker);
  await setSlots(applying, workerId, label, change.slots);
  await link(applying, workerId, peers);
  return answer(workerId, label, false);
}

async function peersOf(
  { tx }: Applying,
  change: CreateWorker,
  own: { readonly workerId: string; readonly label: string },
): Promise<readonly string[]> {
  const names = [own.workerId, own.label, change.host, addressOf(change)];
  const ownKeys = new Set(names.map((name) => name.toUpperCase()));
  const peers = new Set<string>();
  for (const peer of change.peers) {
    const isOwn = ownKeys.has(peer.toUpperCase());
    const found = isOwn ? own.workerId : await resolveWorker(tx, peer, "UnreachableNode");
    if (found === own.workerId) {
      const hint = "Leave it out of its PEERS: they are the workers that it sends rows to.";
      const message = `${own.label} cannot be its own peer`;
      throw new OperatingError("InvalidTopology", "never", message, { hint });
    }
    peers.add(found);
  }
  return [...peers];
}

async function findDescribed({ tx }: Applying, change: CreateWorker, label: string) {
  const rows = await tx.db
    .selectFrom("stream_workers")
    .innerJoin("workers", "workers.worker_id", "stream_workers.worker_id")
    .select(["stream_workers.worker_id", "label", "host_name", "grpc_port"])
    .where("label", "is not", null)
    .execute();
  return rows.find(
    (row) =>
      row.label?.toUpperCase() === label.toUpperCase() ||
      (row.host_name.toUpperCase() === change.host.toUpperCase() &&
        row.grpc_port === change.grpcPort),
  );
}

async function register(
  { tx }: Applying,
  change: CreateWorker,
  worker: DialledWorker,
): Promise<void> {
  const workerId = parseWorkerId(worker.workerId);
  if (workerId === undefined) {
    throw new OperatingError("NetworkError", "never", `${addressOf(change)} is no worker`);
  }
  await registerWorkerIn(tx, {
    workerId,
    hostName: change.host,
    grpcPort: change.grpcPort,
    dataPort: change.dataPort ?? worker.dataPort,
    capacity: worker.capacity,
    incarnation: worker.incarnation as Incarnation,
    softwareVersion: worker.softwareVersion,
  });
}

async function setSlots(
  { tx }: Applying,
  worker_id: string,
  label: string,
  slots: number,
): Promise<void> {
  const row = await tx.db
    .selectFrom("stream_workers")
    .select("slots_used")
    .where("worker_id", "=", worker_id)
    .executeTakeFirst();
  const slots_used = row?.slots_used ?? 0;
  if (slots < slots_used) {
    const message = `${slots_used} stream slots of ${label} are taken, so it cannot have ${slots}`;
    throw new OperatingError("InsufficientCapacity", "never", message);
  }
  await tx.db
    .insertInto("stream_workers")
    .values({ worker_id, label, slots, slots_used })
    .onConflict((conflict) => conflict.column("worker_id").doUpdateSet({ label, slots }))
    .execute();
}

async function link({ tx }: Applying, from: string, peers: readonly string[]): Promise<void> {
  if (peers.length === 0) return;
  const rows = peers.map((peer) => ({ src_worker_id: from, dst_worker_id: peer }));
  await tx.db.insertInto("network_links").values(rows).execute();
  const all = await tx.db.selectFrom("network_links").selectAll().execute();
  const cycle = findCycle(
    all.map(({ src_worker_id, dst_worker_id }) => ({ from: src_worker_id, to: dst_worker_id })),
  );
  if (cycle === undefined) return;
  throw new OperatingError(
    "InvalidTopology",
    "never",
    `the links would lead in a circle: ${cycle.join(" → ")}`,
    { hint: "Leave out the peer that leads back." },
  );
}

function answer(id: string, name: string | null, existed: boolean): Created {
  return { kind: "created", object: "worker", id, name, existed };
}

function quoted(name: string): string {
  return `'${name}'`;
}
