/** The operations of people and workers on the workers table. Every write is under the lease. */
import { assert, OperatingError } from "../../kernel/errors.ts";
import type { Incarnation, WorkerId } from "../../kernel/ids.ts";
import type { CatalogTx, LeaseGrant, Store } from "../../store/index.ts";
import { reasons } from "../core/decide-membership.ts";
import { selectWorker, selectWorkersAfter, type WorkerRow } from "./worker-statements.ts";

export interface WorkerRegistration {
  readonly workerId: WorkerId;
  readonly hostName: string;
  readonly grpcPort: number;
  readonly dataPort: number;
  readonly capacity: number;
  readonly incarnation: Incarnation;
  readonly softwareVersion: string;
}

export const pageLimitMax = 1_000;

/**
 * Records a worker's address, so that it is dialled; it becomes ACTIVE when it answers. Idempotent.
 * Throws `worker_name_taken` while another incarnation of that name is ACTIVE, and `bad_request`
 * for invalid values.
 */
export async function registerWorker(
  store: Store,
  lease: LeaseGrant,
  registration: WorkerRegistration,
): Promise<WorkerRow> {
  return await store.catalogTransaction((tx) => registerWorkerIn(tx, registration), lease);
}

/** The same, as part of a transaction under the lease. */
export async function registerWorkerIn(
  tx: CatalogTx,
  registration: WorkerRegistration,
): Promise<WorkerRow> {
  refuseImpossible(registration);
  const row = await selectWorker(tx, registration.workerId);
  if (row === undefined) return await insertWorker(tx, registration);
  if (row.state === "UNREACHABLE") return await reregisterWorker(tx, registration);
  if (row.incarnation === registration.incarnation) return await moveWorker(tx, registration);
  throw new OperatingError(
    "worker_name_taken",
    "backoff",
    `a worker named ${registration.workerId} is already active at ${row.host_name}:${row.grpc_port}`,
    { hint: "give this worker another name, or stop the other one" },
  );
}

/** Records an operator's wish; the worker follows it once it is reached. Throws `not_found`. */
export async function requestDrain(
  store: Store,
  lease: LeaseGrant,
  workerId: WorkerId,
): Promise<WorkerRow> {
  return await setDrainRequested(store, lease, workerId, 1);
}

/** Throws `not_found`. */
export async function cancelDrain(
  store: Store,
  lease: LeaseGrant,
  workerId: WorkerId,
): Promise<WorkerRow> {
  return await setDrainRequested(store, lease, workerId, 0);
}

/**
 * Removes and returns the row. Throws `not_found`, and `worker_busy` if ACTIVE and not draining.
 */
export async function dropWorker(
  store: Store,
  lease: LeaseGrant,
  workerId: WorkerId,
): Promise<WorkerRow> {
  return await store.catalogTransaction(async (tx) => {
    const row = await selectWorker(tx, workerId);
    if (row === undefined) throw noSuchWorker(workerId);
    if (row.state === "ACTIVE" && row.draining === 0) {
      const message = `worker ${workerId} is active and may be working`;
      throw new OperatingError("worker_busy", "backoff", message, { hint: "drain it first" });
    }
    await tx.remove("workers", workerId);
    return row;
  }, lease);
}

export interface WorkerPage {
  readonly workers: readonly WorkerRow[];
  /** Undefined on the last page. */
  readonly nextAfter: WorkerId | undefined;
}

/** Workers after `after`, sorted by name, at most `limit` (1 to `pageLimitMax`). */
export async function listWorkers(
  store: Store,
  page: { readonly limit: number; readonly after?: WorkerId },
): Promise<WorkerPage> {
  const { limit, after = "" } = page;
  assert(Number.isInteger(limit) && limit > 0 && limit <= pageLimitMax, "a page has a size");
  const rows = await store.read((tx) => selectWorkersAfter(tx, after, limit + 1));
  const workers = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  return { workers, nextAfter: hasMore ? (workers.at(-1)?.worker_id as WorkerId) : undefined };
}

export async function getWorker(store: Store, workerId: WorkerId): Promise<WorkerRow | undefined> {
  return await store.read((tx) => selectWorker(tx, workerId));
}

/** Inserts a row in the state of a worker that was never heard from. */
export async function insertWorker(
  tx: CatalogTx,
  registration: WorkerRegistration,
): Promise<WorkerRow> {
  const nowMs = await tx.nowMs();
  const row: WorkerRow = {
    worker_id: registration.workerId,
    ...whereabouts(registration),
    state: "UNREACHABLE",
    state_reason: reasons.registered,
    state_changed_at_ms: nowMs,
    drain_requested: 0,
    accepting_work: 0,
    draining: 0,
    registered_at_ms: nowMs,
  };
  await tx.insert("workers", row);
  return row;
}

/** Changes `registered_at_ms`, so that the worker is dialled at once. */
async function reregisterWorker(
  tx: CatalogTx,
  registration: WorkerRegistration,
): Promise<WorkerRow> {
  return await updateWorker(tx, registration.workerId, {
    ...whereabouts(registration),
    registered_at_ms: await tx.nowMs(),
  });
}

/** The same process, ACTIVE already: at most its address changes. */
async function moveWorker(tx: CatalogTx, registration: WorkerRegistration): Promise<WorkerRow> {
  return await updateWorker(tx, registration.workerId, whereabouts(registration));
}

async function setDrainRequested(
  store: Store,
  lease: LeaseGrant,
  workerId: WorkerId,
  drain_requested: 0 | 1,
): Promise<WorkerRow> {
  return await store.catalogTransaction(
    (tx) => updateWorker(tx, workerId, { drain_requested }),
    lease,
  );
}

async function updateWorker(
  tx: CatalogTx,
  workerId: WorkerId,
  patch: Partial<WorkerRow>,
): Promise<WorkerRow> {
  const row = await tx.update("workers", workerId, patch);
  if (row === undefined) throw noSuchWorker(workerId);
  return row;
}

function whereabouts(registration: WorkerRegistration) {
  return {
    host_name: registration.hostName,
    grpc_port: registration.grpcPort,
    data_port: registration.dataPort,
    capacity: registration.capacity,
    incarnation: registration.incarnation,
    software_version: registration.softwareVersion,
  } satisfies Partial<WorkerRow>;
}

function refuseImpossible(registration: WorkerRegistration): void {
  const { hostName, grpcPort, dataPort, capacity, softwareVersion } = registration;
  const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port <= 65_535;
  const wrong = !/^[A-Za-z0-9.:_-]{1,255}$/.test(hostName)
    ? "host name"
    : !(isPort(grpcPort) && isPort(dataPort))
      ? "port"
      : !(Number.isInteger(capacity) && capacity >= 0 && capacity <= 1_000_000)
        ? "capacity"
        : softwareVersion.length > 64
          ? "software version"
          : undefined;
  if (wrong === undefined) return;
  throw new OperatingError("bad_request", "never", `no worker can have such a ${wrong}`);
}

function noSuchWorker(workerId: WorkerId): OperatingError {
  return new OperatingError("not_found", "never", `there is no worker ${workerId}`);
}
