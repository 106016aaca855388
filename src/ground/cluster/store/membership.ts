/**
 * Writes what this coordinator's sessions show to the store's workers table, and applies the
 * table's wishes to the sessions. Level-triggered: a change only names the worker to look at.
 *
 * Rules: MB4 to MB7 and MB12. A process that starts while the store cannot be written, and whose
 * previous lease stands, dials the workers of the table and writes nothing; it takes over with the
 * lease.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Incarnation, LeaseEpoch, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { KeyedQueue } from "../../reconcile/index.ts";
import type { CatalogTx, LeaseGrant, Store } from "../../store/index.ts";
import { decideMembership, isAdmissionOnly } from "../core/decide-membership.ts";
import type { Discovery, LiveSession, SessionPool, SessionView, Target } from "../core/index.ts";
import { markAllUnreachable, selectAllWorkers, selectWorker } from "./worker-statements.ts";
import { getWorker, insertWorker } from "./workers.ts";

export interface MembershipOptions {
  readonly store: Store;
  /** The current lease; undefined when this process is not the coordinator and writes nothing. */
  readonly lease: () => LeaseGrant | undefined;
  /**
   * Whether a lease that is not held still stands in our name, because the store cannot be written.
   */
  readonly standsAsOurs?: () => boolean;
  readonly pool: MembershipPool;
  /** Started at the first takeover, stopped by `stop`. */
  readonly discovery: Discovery;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  /** How often everything is reconciled again. Default 30 s. */
  readonly resyncMs?: number;
}

/** What membership needs of `SessionPool`. */
export type MembershipPool = Pick<
  SessionPool,
  "drop" | "onChange" | "setDraining" | "setTargets" | "view"
>;

/**
 * The key of the whole fleet: takeover, targets, and which rows changed. No worker has this name.
 */
const fleet = "*";
type Key = WorkerId | typeof fleet;

const admissionWriteMsMin = 1_000;
/** The wait until a worker that changed before the takeover is reconciled again. */
const takeoverWaitMs = 200;
const workersMax = 100_000;

export class Membership {
  readonly #options: MembershipOptions;
  readonly #queue: KeyedQueue<Key>;
  /** Each worker's row as last read, as text, to find the rows that changed. */
  readonly #rows = new Map<WorkerId, string>();
  readonly #dropped = new Map<WorkerId, Incarnation>();
  readonly #admissionWrittenMs = new Map<WorkerId, number>();
  #takenOver: LeaseEpoch | undefined;
  #isDiscovering = false;
  #targets: readonly Target[] | undefined;
  #unsubscribe: readonly (() => void)[] = [];

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { clock, prng, logger } = options;
    this.#queue = new KeyedQueue<Key>({
      clock,
      prng,
      logger,
      keys: () => [fleet, ...this.#rows.keys()],
      reconcile: (key) => (key === fleet ? this.#reconcileFleet() : this.#reconcileWorker(key)),
      resyncMs: options.resyncMs ?? 30_000,
      backoff: { minMs: 50, maxMs: 5_000 },
      concurrency: 8,
      keysMax: workersMax,
    });
  }

  /** Has no visible effect until the lease is held. */
  start(): void {
    const { pool, store } = this.#options;
    this.#unsubscribe = [
      pool.onChange((workerId) => this.#queue.add(workerId)),
      store.onPoke(() => this.#queue.add(fleet)),
    ];
    this.#queue.start();
  }

  /** Call it from the lease keeper's `onChange`. */
  leaseChanged(): void {
    this.#queue.add(fleet);
    for (const workerId of this.#rows.keys()) this.#queue.add(workerId); // Nobody looked meanwhile.
  }

  /** Bounded in time. Leaves the pool's sessions alone. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#options.discovery.stop();
    await this.#queue.stop();
  }

  /** Whether nothing is left to reconcile at the moment. */
  idle(): boolean {
    return this.#queue.idle();
  }

  async #reconcileFleet(): Promise<void> {
    const { store, lease, standsAsOurs, logger } = this.#options;
    const grant = lease();
    if (grant === undefined) {
      if (this.#takenOver === undefined && standsAsOurs?.() === true) this.#discover();
      return; // MB4
    }
    if (this.#takenOver !== grant.epoch) {
      const count = await store.catalogTransaction(markAllUnreachable, grant);
      logger.info({ lease_epoch: grant.epoch, worker_count: count }, "took over the workers");
      this.#takenOver = grant.epoch; // MB5
      this.#discover();
    }
    await this.#readRows();
    this.#dial();
  }

  #discover(): void {
    if (this.#isDiscovering) return;
    this.#isDiscovering = true;
    this.#options.discovery.start((targets) => this.#found(targets));
  }

  async #readRows(): Promise<void> {
    const rows = await this.#options.store.read(selectAllWorkers);
    const present = new Set(rows.map((row) => row.worker_id as WorkerId));
    for (const workerId of this.#rows.keys()) {
      if (!present.has(workerId)) this.#queue.add(workerId);
    }
    for (const row of rows) {
      const workerId = row.worker_id as WorkerId;
      const text = JSON.stringify(row);
      if (this.#rows.get(workerId) === text) continue;
      this.#rows.set(workerId, text);
      this.#queue.add(workerId);
    }
  }

  #found(targets: readonly Target[]): void {
    const { discovery, pool } = this.#options;
    const found = new Set(targets.map((target) => target.workerId));
    for (const { workerId } of this.#targets ?? []) {
      const isGone = workerId !== undefined && !found.has(workerId);
      if (isGone && !discovery.adopts) pool.drop(workerId); // MB6: its row is.
    }
    this.#targets = targets;
    this.#dial();
  }

  #dial(): void {
    const { lease, standsAsOurs, pool } = this.#options;
    const epoch = lease()?.epoch;
    const isInherited = this.#takenOver === undefined && standsAsOurs?.() === true;
    if (!isInherited && (epoch === undefined || epoch !== this.#takenOver)) return; // MB5
    if (this.#targets !== undefined) pool.setTargets(this.#targets);
  }

  async #reconcileWorker(workerId: WorkerId): Promise<{ requeueAfterMs: number } | undefined> {
    const { store, lease, pool } = this.#options;
    const grant = lease();
    if (grant === undefined) return undefined; // MB4
    if (grant.epoch !== this.#takenOver) {
      this.#queue.add(fleet); // MB5
      return { requeueAfterMs: takeoverWaitMs };
    }
    const row = await getWorker(store, workerId);
    if (row === undefined) {
      await this.#withoutRow(workerId, grant);
      return undefined;
    }
    pool.setDraining(workerId, row.drain_requested === 1);
    const patch = decideMembership(row, pool.view(workerId));
    if (patch === undefined) return undefined;
    const waitMs = isAdmissionOnly(patch) ? this.#admissionWaitMs(workerId) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs }; // MB7
    await store.catalogTransaction((tx) => writeMembership(tx, workerId, pool), grant);
    this.#admissionWrittenMs.set(workerId, this.#options.clock.nowMs());
    return undefined;
  }

  #admissionWaitMs(workerId: WorkerId): number {
    const writtenMs = this.#admissionWrittenMs.get(workerId) ?? Number.NEGATIVE_INFINITY;
    return writtenMs + admissionWriteMsMin - this.#options.clock.nowMs();
  }

  async #withoutRow(workerId: WorkerId, grant: LeaseGrant): Promise<void> {
    const { store, pool, discovery } = this.#options;
    const hadRow = this.#rows.delete(workerId);
    this.#admissionWrittenMs.delete(workerId);
    const view = pool.view(workerId);
    const live = view?.live;
    if (view !== undefined && live !== undefined && discovery.adopts && !hadRow) {
      if (this.#dropped.get(workerId) !== live.incarnation) {
        await store.catalogTransaction((tx) => adoptWorker(tx, workerId, view, live), grant);
        this.#dropped.delete(workerId);
        this.#queue.add(workerId);
        return;
      }
    }
    if (live !== undefined && discovery.adopts) this.#dropped.set(workerId, live.incarnation);
    pool.drop(workerId); // MB6
  }
}

/** Decides again from what is true inside the transaction. */
async function writeMembership(
  tx: CatalogTx,
  workerId: WorkerId,
  pool: MembershipPool,
): Promise<void> {
  const row = await selectWorker(tx, workerId);
  const patch = row === undefined ? undefined : decideMembership(row, pool.view(workerId));
  if (patch === undefined) return;
  const changesState = patch.state !== undefined;
  const when = changesState ? { state_changed_at_ms: await tx.nowMs() } : {};
  await tx.update("workers", workerId, { ...patch, ...when });
}

/** Adds a worker that was found without registration. The next reconciliation makes it ACTIVE. */
async function adoptWorker(
  tx: CatalogTx,
  workerId: WorkerId,
  view: SessionView,
  live: LiveSession,
): Promise<void> {
  if ((await selectWorker(tx, workerId)) !== undefined) return; // It registered meanwhile.
  await insertWorker(tx, {
    workerId,
    hostName: view.address.host,
    grpcPort: view.address.grpcPort,
    dataPort: portOf(live.dataUrl),
    capacity: live.capacity,
    incarnation: live.incarnation,
    softwareVersion: live.softwareVersion,
  });
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
